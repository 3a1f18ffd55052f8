import packageJson from "../../../package.json" with { type: "json" };
import type { Project } from "./project.ts";

export type Manifest = {
  name?: string;
  private?: boolean;
  type?: string;
  scripts?: Record<string, string>;
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
  jest?: { transform?: unknown };
};

/** Jest's setting that lets it run TypeScript beside JavaScript. */
export const JEST_TRANSFORM = { "\\.ts$": "@swc/jest", "\\.js$": "babel-jest" };

/** The CDK, the local stack's emulator and bundler, and TypeScript: in the versions that Minutehand's own tests use. */
const DEVELOPMENT = [
  ...["aws-cdk", "aws-cdk-lib", "constructs", "esbuild", "fauxqs"],
  ...["@types/node", "typescript"],
] as const;
export const VERSIONS: Readonly<Record<string, string>> = {
  ...packageJson.dependencies,
  ...packageJson.devDependencies,
  // As in the app that `cdk init` writes.
  ...{ tsx: "^4.23.0", "@swc/core": "^1.15.0", "@swc/jest": "^0.2.39" },
};

/** Adds what is missing: scripts and packages. Changes nothing that is there, except what `npm init` writes without asking. */
export function withMissing(manifest: Manifest, project: Project): Manifest {
  const { isNewApp, isBare, module, jestLacks, packages } = project;
  const { dependencies = {}, devDependencies = {} } = manifest;
  const needed = [...DEVELOPMENT, ...runnerPackages(project)];
  const missing = needed.filter((name) => !(name in packages)).map((name) => [name, VERSIONS[name]]);
  const minutehand = "minutehand" in packages ? {} : { minutehand: `^${packageJson.version}` };
  return {
    ...manifest,
    ...(isNewApp ? { private: manifest.private ?? true } : {}),
    ...(isBare ? { type: module === "esm" ? "module" : "commonjs" } : {}),
    scripts: withScripts(manifest.scripts, project),
    ...withPackages("dependencies", dependencies, minutehand),
    ...withPackages("devDependencies", devDependencies, sorted(Object.fromEntries(missing))),
    ...(jestLacks === "transform" ? { jest: { ...manifest.jest, transform: JEST_TRANSFORM } } : {}),
  };
}

function withPackages<Kind extends string>(
  kind: Kind,
  before: Record<string, string>,
  missing: Record<string, string>,
): Partial<Record<Kind, Record<string, string>>> {
  if (Object.keys(missing).length === 0) return {};
  return { [kind]: { ...before, ...missing } } as Record<Kind, Record<string, string>>;
}

/** What runs the app and the tests. Node alone runs ES modules in TypeScript, and no CommonJS with `import`. */
function runnerPackages({ isNewApp, module, runner, jestLacks }: Project): string[] {
  const needsTsx = module === "commonjs" && (isNewApp || runner === "node");
  return [
    ...(needsTsx ? ["tsx"] : []),
    ...(runner === "vitest" ? ["vitest"] : []),
    ...(jestLacks === "nothing" ? [] : ["@swc/core", "@swc/jest"]),
  ];
}

function withScripts(
  { test, ...others }: Record<string, string> = {},
  { manager, isNewApp, module, runner, uncompiledApp, tests, testEnding }: Project,
): Record<string, string> {
  const own = {
    local: uncompiledApp === undefined ? "minutehand local" : `minutehand local --app "${uncompiledApp}"`,
    synth: "cdk synth --quiet",
    ...(isNewApp ? { check: "tsc --noEmit" } : {}),
  };
  const node = module === "esm" ? "node" : "tsx";
  const runsJobs = {
    node: `${node} --test "${tests}/*.${testEnding}.ts"`,
    vitest: "vitest run",
    jest: "jest",
  }[runner];
  if (test === undefined || isNpmDefault(test)) return { ...own, test: runsJobs, ...others };
  // Without a path, each runner finds the tests of all folders.
  const runsAll = {
    node: new RegExp(`\\b${node}( -\\S+)* --test( -\\S+)*$`),
    vitest: /\bvitest\b/,
    jest: /\bjest\b/,
  }[runner];
  if (runsAll.test(test) || test.includes(runsJobs)) return { ...own, test, ...others };
  // The user's own script stays, and npm runs `posttest` after it. Yarn 2 and later do not.
  return { ...own, test, "test:jobs": runsJobs, posttest: `${manager.run} test:jobs`, ...others };
}

/** `npm init` writes a test script that only fails. */
function isNpmDefault(script: string): boolean {
  return script.includes("no test specified");
}

/** npm sorts the packages too. */
function sorted(packages: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(packages).sort(([a], [b]) => (a < b ? -1 : 1)));
}
