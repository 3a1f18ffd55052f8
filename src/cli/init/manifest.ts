import packageJson from "../../../package.json" with { type: "json" };
import type { Kind } from "./files.ts";

export type Manifest = {
  name?: string;
  private?: boolean;
  type?: string;
  scripts?: Record<string, string>;
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
};

/** The CDK, the local stack's emulator and bundler, and TypeScript: in the versions that Minutehand's own tests use. */
const DEVELOPMENT = [
  ...["aws-cdk", "aws-cdk-lib", "constructs", "esbuild", "fauxqs"],
  ...["@types/node", "typescript"],
] as const;
const VERSIONS: Readonly<Record<string, string>> = {
  ...packageJson.dependencies,
  ...packageJson.devDependencies,
};

export function runnerOf({ dependencies, devDependencies }: Manifest): Kind["runner"] {
  return "vitest" in { ...dependencies, ...devDependencies } ? "vitest" : "node";
}

/** Adds what is missing: scripts and packages. Changes nothing that is there, except the failing test script of `npm init`. */
export function withMissing(
  manifest: Manifest,
  { isNewApp, kind, jobs }: { isNewApp: boolean; kind: Kind; jobs: string },
): Manifest {
  const { dependencies = {}, devDependencies = {} } = manifest;
  const packages = { ...dependencies, ...devDependencies };
  const missing = DEVELOPMENT.filter((name) => !(name in packages)).map((name) => [name, VERSIONS[name]]);
  const minutehand = "minutehand" in packages ? {} : { minutehand: `^${packageJson.version}` };
  return {
    ...manifest,
    ...(isNewApp ? { private: manifest.private ?? true, type: manifest.type ?? "module" } : {}),
    scripts: withScripts(manifest.scripts, isNewApp, kind, jobs),
    dependencies: { ...dependencies, ...minutehand },
    devDependencies: sorted({ ...devDependencies, ...Object.fromEntries(missing) }),
  };
}

function withScripts(
  { test, ...others }: Record<string, string> = {},
  isNewApp: boolean,
  { ending, runner }: Kind,
  jobs: string,
): Record<string, string> {
  const runsJobs = runner === "vitest" ? "vitest run" : `node --test "${jobs}/*.test.${ending}"`;
  // Without a path, each runner finds the tests of all folders.
  const runsAll = runner === "vitest" ? /\bvitest\b/ : /\bnode --test\b/;
  const isAbsent = test === undefined || isNpmDefault(test);
  // Another test script of the user's stays, and may use another runner.
  const tests = isAbsent
    ? { test: runsJobs }
    : { test, ...(runsAll.test(test) ? {} : { "test:jobs": runsJobs }) };
  const own = {
    local: "minutehand local",
    synth: "cdk synth --quiet",
    ...(isNewApp ? { check: "tsc" } : {}),
  };
  return { ...own, ...tests, ...others };
}

/** `npm init` writes a test script that only fails. */
function isNpmDefault(script: string): boolean {
  return script.includes("no test specified");
}

/** npm sorts the packages too. */
function sorted(packages: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(packages).sort(([a], [b]) => (a < b ? -1 : 1)));
}
