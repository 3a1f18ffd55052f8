import { posix } from "node:path";
import type { PackageManager } from "../../general/package-manager.ts";
import { UsageError } from "../cli-error.ts";
import type { Manifest } from "./manifest.ts";

/** The folder in which `init` runs. */
export type Folder = {
  readonly name: string;
  /** The paths of the project's own files, without those of packages and of builds. */
  readonly files: readonly string[];
  /** Answers the text of a file, or `undefined` if there is none. */
  read(path: string): string | undefined;
  readonly manager: PackageManager;
  /** The package.json of the workspace that the folder is a part of. */
  readonly workspace: Manifest;
};

export const RUNNERS = ["node", "vitest", "jest"] as const;
export type Runner = (typeof RUNNERS)[number];
export const RUNNER_NAMES = { node: "node:test", vitest: "Vitest", jest: "Jest" };
export const MODULES = ["esm", "commonjs"] as const;
export type Module = (typeof MODULES)[number];

type Packages = Readonly<Record<string, string>>;

/** What the user has said with flags or answers. */
export type Asked = { readonly runner?: Runner; readonly module?: Module };

/** What `init` has found, which says how the new code is written and where it stands. */
export type Project = {
  readonly manager: PackageManager;
  /** The packages that the project has, and those of its workspace, with their versions. */
  readonly packages: Packages;
  /** Whether there is no CDK app yet. */
  readonly isNewApp: boolean;
  /** Whether no code is there yet, so that nothing depends on the package's `type`. */
  readonly isBare: boolean;
  readonly module: Module;
  readonly runner: Runner;
  /** The command that runs the app, if that of cdk.json first runs the compiler, whose errors in any file would stop the local stack. */
  readonly uncompiledApp: string | undefined;
  /** The folder of the handlers. */
  readonly jobs: string;
  /** The folder of their tests. */
  readonly tests: string;
  /** What stands before `.ts` in the name of a test. */
  readonly testEnding: "test" | "spec";
  /** Whether the names of Jest are global for the compiler too. */
  readonly hasJestTypes: boolean;
  /** What Jest lacks to run TypeScript: nothing, the setting `transform`, or that in a file of the user's. */
  readonly jestLacks: "nothing" | "transform" | "transform in a file";
};

/** Throws a `UsageError` if a flag does not fit the project. */
export function projectOf(folder: Folder, manifest: Manifest, asked: Asked): Project {
  const sources = folder.files.filter(isCode);
  const isBare = sources.length === 0;
  const module = moduleOf(manifest, isBare, asked);
  const packages = packagesOf(folder, manifest);
  const runner = runnerIn(folder, packages, manifest, asked);
  const hasOldPlace = folder.files.includes("jobs/topics.ts");
  const jobs = !hasOldPlace && sources.some((path) => path.startsWith("src/")) ? "src/jobs" : "jobs";
  const settings = folder.read("cdk.json");
  const isNewApp = settings === undefined;
  const uncompiledApp = uncompiled(settings ?? "");
  const hasJestTypes = "@types/jest" in packages;
  const jestLacks = runner === "jest" ? lackOfJest(folder, packages, manifest) : "nothing";
  const { manager } = folder;
  const found = {
    manager,
    packages,
    isNewApp,
    isBare,
    module,
    runner,
    uncompiledApp,
    jobs,
    hasJestTypes,
    jestLacks,
  };
  // The user's own `node --test` would find a `.test.ts` here, and run it without tsx.
  const isHidden =
    module === "commonjs" && runner === "node" && /\bnode\b.*--test/.test(testScript(manifest));
  if (isHidden) return { ...found, tests: jobs, testEnding: "spec" };
  const tests = sources.filter((path) => /\.(test|spec)\.\w+$/.test(path));
  const isSpec = tests.length > 0 && tests.every((path) => path.includes(".spec."));
  const testFolder = testFolderOf(folder, tests, jobs, runner);
  return { ...found, tests: testFolder, testEnding: isSpec ? "spec" : "test" };
}

/** Answers `npx tsx bin/shop.ts` of a cdk.json with the app `npx tsc && npx tsx bin/shop.ts`, as `cdk init` writes it. */
function uncompiled(settings: string): string | undefined {
  const [, compiler = "", command = ""] = /"app"\s*:\s*"([^"\\]*?)&&([^"\\]*)"/.exec(settings) ?? [];
  const last = command.replace(/^.*&&/, "").trim();
  const isCompiler = /^\s*((npx|yarn|pnpm( exec)?|bunx)\s+)?tsc(\s|$)/.test(compiler);
  // A command that runs the compiler's output needs the compiler. A shell gives a few characters in quotes a meaning.
  return isCompiler && /\.[cm]?ts$/.test(last) && !/[$`!%]/.test(last) ? last : undefined;
}

function moduleOf({ type }: Manifest, isBare: boolean, { module: asked }: Asked): Module {
  // `npm init` writes "commonjs" without asking, so the value means nothing while there is no code.
  if (isBare) return asked ?? "esm";
  const found = type === "module" ? "esm" : "commonjs";
  if (asked === undefined || asked === found) return found;
  const says = type === undefined ? "has no type" : `has the type ${type}`;
  throw new UsageError(`--module ${asked} does not fit: package.json ${says}, which means ${found}`);
}

/** The runner that the project has or that was asked for; otherwise Node's own. */
function runnerIn(folder: Folder, packages: Packages, manifest: Manifest, { runner: asked }: Asked): Runner {
  const found = knownRunner(packages, manifest);
  if (asked === "jest" && !("jest" in packages))
    throw new UsageError(
      "--runner jest needs a project with Jest, such as the one of cdk init app --language typescript",
    );
  // Each runner would take the files of the other, and fail.
  const hasTests = folder.files.some((path) => /(^|\/)jobs\/topics\.ts$/.test(path));
  if (asked !== undefined && found !== undefined && asked !== found && hasTests)
    throw new UsageError(
      `--runner ${asked} does not fit: the tests of jobs are for ${RUNNER_NAMES[found]}. To switch, first change these tests and their script in package.json`,
    );
  return asked ?? found ?? "node";
}

/** The runner that the project has. The script of the tests names the one in use, also if another one is installed later. */
export function knownRunner(packages: Packages, { scripts = {} }: Manifest): Runner | undefined {
  const script = scripts["test:jobs"] ?? scripts.test ?? "";
  const installed = RUNNERS.filter((name) => name in packages);
  const named = installed.find((name) => script.includes(name));
  return named ?? (/\b(node|tsx)\b.* --test\b/.test(script) ? "node" : installed[0]);
}

/** The folder in which the runner looks for tests: the one that Jest's `roots` names, or that has all tests; otherwise the handlers'. */
function testFolderOf(
  { files, read }: Folder,
  tests: readonly string[],
  jobs: string,
  runner: Runner,
): string {
  const configs = files.filter((path) => /^(jest\.config\.\w+|package\.json)$/.test(path));
  const roots = /\broots["']?:\s*\[\s*["'](?:<rootDir>\/|\.\/)?([\w/-]+)/;
  const [root] = configs.flatMap((path) => roots.exec(read(path) ?? "")?.[1] ?? []);
  if (runner === "jest" && root !== undefined) return jobs.startsWith(`${root}/`) ? jobs : root;
  const [top = "", ...others] = new Set(tests.map((path) => path.replace(/\/.*/, "")));
  return others.length === 0 && /^(tests?|__tests__|spec)$/.test(top) ? top : jobs;
}

/** Jest runs TypeScript in each project that has it. In one of JavaScript alone, its Babel fails at the first type. */
function lackOfJest({ files }: Folder, packages: Packages, manifest: Manifest): Project["jestLacks"] {
  if ("typescript" in packages || files.includes("tsconfig.json")) return "nothing";
  const hasFile = files.some((path) => path.startsWith("jest.config."));
  return hasFile || manifest.jest?.transform !== undefined ? "transform in a file" : "transform";
}

/** The one file of the project that declares a stack, if there is one alone. */
export function stackFileOf({ files, read }: Folder): string | undefined {
  const declaring = files.filter(
    (path) => path.endsWith(".ts") && /\bextends (\w+\.)?Stack\b/.test(read(path) ?? ""),
  );
  return declaring.length === 1 ? declaring[0] : undefined;
}

/** The packages of the folder and of its workspace: both can be imported. */
export function packagesOf({ workspace }: Folder, { dependencies, devDependencies }: Manifest): Packages {
  return {
    ...{ ...workspace.dependencies, ...workspace.devDependencies },
    ...{ ...dependencies, ...devDependencies },
  };
}

function testScript({ scripts }: Manifest): string {
  return scripts?.test ?? "";
}

/** How a file imports another file of the project. In CommonJS, the compiler and all loaders find a path without an ending. */
export function importPath(from: string, to: string, module: Module): string {
  const path = posix.relative(posix.dirname(from), to);
  return `${path.startsWith(".") ? path : `./${path}`}${module === "esm" ? ".ts" : ""}`;
}

function isCode(path: string): boolean {
  return /\.[cm]?[jt]sx?$/.test(path);
}
