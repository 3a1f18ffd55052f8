import { UsageError } from "../cli-error.ts";
import { declares, hasUsualBody } from "./declared-topics.ts";
import {
  appFile,
  clientFile,
  handlerFile,
  handlerLine,
  json,
  queueLines,
  testFile,
  topicLine,
  topicsFile,
  topicsImport,
  tsconfigFile,
  typesOf,
} from "./files.ts";
import { queueFileOf, withHandlers, withTopics } from "./further-topics.ts";
import { withValues } from "./json-text.ts";
import { JEST_TRANSFORM, type Manifest, withMissing } from "./manifest.ts";
import { type Asked, type Folder, type Project, projectOf, stackFileOf } from "./project.ts";
import { checksWithoutExports, TS_IMPORTS, withIgnored, withTsImports, withTypes } from "./settings.ts";

const WHERE_TO_SKIP =
  "compilerOptions in tsconfig.json, because tsc would report errors in the types of vitest";

export type Plan = {
  readonly project: Project;
  /** The new files. */
  readonly write: Readonly<Record<string, string>>;
  /** The files that exist and get more lines. */
  readonly change: Readonly<Record<string, string>>;
  /** The files that exist, and are left as they are. */
  readonly kept: readonly string[];
  /** The lines that the user has to add, and where. */
  readonly add: readonly { readonly to: string; readonly lines: readonly string[] }[];
  readonly next: readonly string[];
};

/** Plans what `init` does in a folder. Throws a `SyntaxError` if package.json is not a JSON object, and a `UsageError` for a wrong flag. */
export function planInit(topics: readonly string[], folder: Folder, asked: Asked): Plan {
  const manifest = manifestIn(folder);
  const project = projectOf(folder, manifest, asked);
  const extendedManifest = withMissing(manifest, project);
  refuseOtherBodies(topics, folder, project);
  const { read } = folder;
  const extended = extendedFiles(topics, folder, project);
  const files = {
    ...newFiles(topics, folder, project),
    ...extended,
    ...settingsFiles(folder, project),
    "package.json": manifestText(folder, manifest, extendedManifest),
  };
  const write: Record<string, string> = {};
  const change: Record<string, string> = {};
  for (const [path, text] of Object.entries(files)) {
    const before = read(path);
    if (before === undefined) write[path] = text;
    else if (before !== text) change[path] = text;
  }
  return {
    ...{ project, write, change },
    kept: Object.keys(files).filter((path) => !(path in write || path in change)),
    add: linesToAdd(topics, folder, project, extended),
    next: nextCommands(topics[0] ?? "", project, extendedManifest, "package.json" in { ...write, ...change }),
  };
}

/** Reads package.json; without one, answers what it begins with. */
export function manifestIn({ name, read }: Folder): Manifest {
  const text = read("package.json");
  if (text === undefined) return { name: packageName(name) };
  const value: unknown = JSON.parse(text);
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  throw new SyntaxError(`got ${text.trim()}`);
}

function manifestText({ read }: Folder, before: Manifest, after: Manifest): string {
  const text = read("package.json");
  return text === undefined ? json(after) : withValues(text, before, after);
}

/** Throws a `UsageError` for a topic whose bodies are not those of the handler and the test that `init` would write. */
function refuseOtherBodies(topics: readonly string[], { read }: Folder, project: Project): void {
  const { jobs, tests, testEnding } = project;
  const path = `${jobs}/topics.ts`;
  const declared = read(path);
  if (declared === undefined) return;
  for (const topic of topics) {
    const own = [`${jobs}/${topic}.ts`, `${tests}/${topic}.${testEnding}.ts`];
    const missing = own.filter((file) => read(file) === undefined);
    if (missing.length === 0 || !declares(declared, topic) || hasUsualBody(declared, topic)) continue;
    throw new UsageError(
      `${path} already has the topic ${topic}, with a body of its own: write ${missing.join(" and ")} yourself; nothing was written`,
    );
  }
}

/** The files with code, as they are after `init`: a file that exists keeps its text. */
function newFiles(topics: readonly string[], folder: Folder, project: Project): Record<string, string> {
  const { isNewApp, module, jobs, tests, testEnding } = project;
  const files: Record<string, string> = {};
  const want = (path: string, textOf: (path: string) => string): void => {
    files[path] = folder.read(path) ?? textOf(path);
  };
  if (isNewApp) {
    // An `app` in the folder is the user's own program, and with `src/` the compiler may take no other code.
    const hasApp = folder.files.some((path) => /^app\.[cm]?[jt]sx?$/.test(path));
    const app = jobs === "jobs" && !hasApp ? "app.ts" : `${jobs}/app.ts`;
    want("cdk.json", () => json({ app: `${module === "esm" ? "node" : "npx tsx"} ${app}` }));
    want(app, (path) => appFile(topics, stackName(folder.name), path, project));
  }
  want(`${jobs}/topics.ts`, () => topicsFile(topics));
  want(`${jobs}/client.ts`, (path) => clientFile(path, topics[0] ?? "", project));
  for (const topic of topics) {
    want(`${jobs}/${topic}.ts`, (path) => handlerFile(path, topic, project));
    want(`${tests}/${topic}.${testEnding}.ts`, (path) => testFile(path, topic, project));
  }
  return files;
}

/** The files of an earlier `init` that get these topics. */
function extendedFiles(topics: readonly string[], folder: Folder, project: Project): Record<string, string> {
  const topicsPath = `${project.jobs}/topics.ts`;
  const declared = folder.read(topicsPath);
  if (declared === undefined) return {};
  const queuePath = queueFileOf(folder);
  const types = withTopics(declared, topics);
  const app = queuePath && withHandlers(folder.read(queuePath) ?? "", topics, project);
  return {
    ...(types !== undefined && { [topicsPath]: types }),
    ...(queuePath !== undefined && app !== undefined && { [queuePath]: app }),
  };
}

function settingsFiles({ read }: Folder, project: Project): Record<string, string> {
  const settings = read("tsconfig.json");
  return {
    "tsconfig.json": settings === undefined ? tsconfigFile(project) : changedSettings(settings, project),
    ".gitignore": withIgnored(read(".gitignore")),
  };
}

function changedSettings(settings: string, project: Project): string {
  const withImports = (project.module === "esm" ? withTsImports(settings) : undefined) ?? settings;
  // Before version 6 the compiler takes all installed types, and a list would take the others away.
  return isBefore6(project) ? withImports : withTypes(withImports, typesOf(project));
}

/** Whether the project's compiler is older than TypeScript 6. */
function isBefore6({ packages }: Project): boolean {
  return /^\D*[1-5](\.|$)/.test(packages.typescript ?? "");
}

/** What an existing file lacks, and the user has to add. */
function linesToAdd(
  topics: readonly string[],
  folder: Folder,
  project: Project,
  extended: Readonly<Record<string, string>>,
): Plan["add"] {
  const { isNewApp, jobs, module, runner } = project;
  const topicsPath = `${jobs}/topics.ts`;
  const declared = folder.read(topicsPath);
  const undeclared = declared === undefined ? [] : topics.filter((topic) => !declares(declared, topic));
  const queueFile = declared === undefined ? undefined : queueFileOf(folder);
  const stack = isNewApp ? undefined : (queueFile ?? stackFileOf(folder));
  const imports = ['import { DelayQueue } from "minutehand/cdk";', topicsImport(stack ?? "app.ts", project)];
  const toApp =
    declared === undefined
      ? [...imports, "", ...queueLines(topics, "this", project)]
      : undeclared.flatMap((topic) => [`topics: { "${topic}": {} }`, handlerLine(topic, project)]);
  const settings = folder.read("tsconfig.json");
  const isUnclear = settings !== undefined && module === "esm" && withTsImports(settings) === undefined;
  const failsInVitest = runner === "vitest" && isBefore6(project) && checksWithoutExports(settings ?? "");
  return [
    ...(isNewApp || toApp.length === 0 || (queueFile ?? "") in extended
      ? []
      : [{ to: stack ?? "the stack of your app", lines: toApp }]),
    ...(undeclared.length === 0 || topicsPath in extended
      ? []
      : [{ to: topicsPath, lines: undeclared.map(topicLine) }]),
    ...(project.jestLacks === "transform in a file"
      ? [{ to: "the configuration of Jest", lines: [`transform: ${JSON.stringify(JEST_TRANSFORM)}`] }]
      : []),
    ...(isUnclear ? [{ to: "compilerOptions in tsconfig.json", lines: [`"${TS_IMPORTS}": true`] }] : []),
    ...(failsInVitest ? [{ to: WHERE_TO_SKIP, lines: ['"skipLibCheck": true'] }] : []),
  ];
}

function nextCommands(
  topic: string,
  { manager }: Project,
  { scripts = {} }: Manifest,
  hasNewPackages: boolean,
): string[] {
  const { install, run, test, exec } = manager;
  return [
    ...(hasNewPackages ? [install] : []),
    "test:jobs" in scripts ? `${run} test:jobs` : test,
    `${run} local`,
    `${exec} minutehand enqueue ${topic} --delay 5 --body '{"id": "17"}'`,
  ];
}

/** A name that npm takes, such as `my-shop` for `My Shop`. */
function packageName(folder: string): string {
  const name = folder
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]+/g, "-")
    .replaceAll(/^-+|-+$/g, "");
  return name || "jobs";
}

/** A name that CloudFormation takes, such as `MyShop` for `my-shop`. */
function stackName(folder: string): string {
  const words = folder.split(/[^A-Za-z0-9]+/).map((word) => word.charAt(0).toUpperCase() + word.slice(1));
  const name = words
    .join("")
    .replace(/^[0-9]+/, "")
    .slice(0, 64);
  return name || "Jobs";
}
