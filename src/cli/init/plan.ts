import { isDeepStrictEqual } from "node:util";
import {
  appFile,
  handlerFile,
  handlerLine,
  JOBS,
  json,
  type Kind,
  queueLines,
  testFile,
  topicLine,
  topicsFile,
  tsconfigFile,
} from "./files.ts";
import { type Manifest, runnerOf, withMissing } from "./manifest.ts";

export type Read = (path: string) => string | undefined;

export type Plan = {
  readonly write: Readonly<Record<string, string>>;
  /** The files that exist, and are left as they are. */
  readonly kept: readonly string[];
  /** The lines that the user has to add, and where. */
  readonly add: readonly { readonly to: string; readonly lines: readonly string[] }[];
  readonly next: readonly string[];
};

const IGNORED = ["node_modules", "cdk.out", ".minutehand"];

/** Plans what `init` does in a folder. `folder`: its name. Throws a `SyntaxError` if package.json is not a JSON object. */
export function planInit(topics: readonly string[], folder: string, read: Read): Plan {
  const isNewApp = read("cdk.json") === undefined;
  const manifestText = read("package.json");
  const before = manifestText === undefined ? { name: packageName(folder) } : parseManifest(manifestText);
  // In a CommonJS package Node takes a .ts file for CommonJS.
  const isModule = (before.type ?? (isNewApp ? "module" : "commonjs")) === "module";
  const kind: Kind = { ending: isModule ? "ts" : "mts", runner: runnerOf(before) };
  const manifest = withMissing(before, { isNewApp, kind, jobs: JOBS });
  const app = `app.${kind.ending}`;
  const wanted: Record<string, string> = {
    ...(isNewApp
      ? { "cdk.json": json({ app: `node ${app}` }), [app]: appFile(topics, stackName(folder), kind) }
      : {}),
    "tsconfig.json": tsconfigFile(kind),
    ".gitignore": `${IGNORED.join("\n")}\n`,
    [`${JOBS}/topics.${kind.ending}`]: topicsFile(topics),
  };
  for (const topic of topics) {
    wanted[`${JOBS}/${topic}.${kind.ending}`] = handlerFile(topic, kind);
    wanted[`${JOBS}/${topic}.test.${kind.ending}`] = testFile(topic, kind);
  }
  const kept = Object.keys(wanted).filter((path) => read(path) !== undefined);
  const write = Object.fromEntries(Object.entries(wanted).filter(([path]) => !kept.includes(path)));
  const isComplete = isDeepStrictEqual(manifest, before);
  if (!isComplete) write["package.json"] = json(manifest, indentOf(manifestText));
  const testScript = "test:jobs" in (manifest.scripts ?? {}) ? "npm run test:jobs" : "npm test";
  return {
    write,
    kept: isComplete ? [...kept, "package.json"] : kept,
    add: linesToAdd(topics, kind, read, app in write),
    next: [
      ...(isComplete ? [] : ["npm install"]),
      testScript,
      "npm run local",
      `npx minutehand enqueue ${topics[0]} --delay 5 --body '{"id": "17"}'`,
    ],
  };
}

function parseManifest(text: string): Manifest {
  const value: unknown = JSON.parse(text);
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  throw new SyntaxError(`got ${text.trim()}`);
}

/** What an existing file lacks. */
function linesToAdd(topics: readonly string[], kind: Kind, read: Read, hasNewApp: boolean): Plan["add"] {
  const topicsPath = `${JOBS}/topics.${kind.ending}`;
  const declared = read(topicsPath);
  const undeclared = declared === undefined ? [] : topics.filter((topic) => !declared.includes(`"${topic}"`));
  const ignored = read(".gitignore");
  const unignored = IGNORED.filter((name) => ignored !== undefined && !ignored.includes(name));
  const settings = read("tsconfig.json");
  const importsTs =
    settings === undefined || /allowImportingTsExtensions|rewriteRelativeImportExtensions/.test(settings);
  const toApp =
    declared === undefined
      ? ['import { DelayQueue } from "minutehand/cdk";', "", ...queueLines(topics, "this", kind)]
      : undeclared.flatMap((topic) => [`topics: { "${topic}": {} }`, handlerLine(topic, kind.ending)]);
  return [
    ...(hasNewApp || toApp.length === 0 ? [] : [{ to: "the stack of your app", lines: toApp }]),
    ...(undeclared.length === 0 ? [] : [{ to: topicsPath, lines: undeclared.map(topicLine) }]),
    ...(unignored.length === 0 ? [] : [{ to: ".gitignore", lines: unignored }]),
    ...(importsTs
      ? []
      : [{ to: "compilerOptions in tsconfig.json", lines: ['"rewriteRelativeImportExtensions": true'] }]),
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

function indentOf(text: string | undefined): string {
  return /^\{\r?\n([ \t]+)/.exec(text ?? "")?.[1] ?? "  ";
}
