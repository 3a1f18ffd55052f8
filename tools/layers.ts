import { globSync, readFileSync } from "node:fs";
import { join, normalize } from "node:path";
import { parseSync } from "oxc-parser";

/**
 * Which room may import which: each room may import itself, and the rooms in its row. A room of `src/` or `tools/` has its name there: `core`
 * is `src/core`. A room that is not named here may import nothing, so you must name a new room first. `node tools/layers.ts`, a part of
 * `npm run check`, lists each import that breaks these rules.
 */
export const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  general: [],
  cron: ["general"],
  core: ["general"],
  settings: ["core", "general"],
  // The protocol, from the bottom up. The files directly in `protocol/` are its vocabulary: ports, policy, reports, new jobs.
  protocol: ["settings", "core", "general"],
  "protocol/store": ["protocol", "core", "general"],
  "protocol/gate": ["protocol/store", "protocol", "settings", "core", "general", "cron"],
  "protocol/send": ["protocol/gate", "protocol/store", "protocol", "settings", "core", "general"],
  "protocol/read": ["protocol/gate", "protocol/store", "protocol", "settings", "core", "general"],
  "protocol/change": [
    ...["protocol/send", "protocol/read", "protocol/gate", "protocol/store", "protocol", "core", "general"],
  ],
  "protocol/run": [
    ...["protocol/change", "protocol/send", "protocol/read", "protocol/gate", "protocol/store", "protocol"],
    ...["settings", "core", "general"],
  ],
  "protocol/file": [
    ...["protocol/change", "protocol/send", "protocol/gate", "protocol/store", "protocol"],
    ...["settings", "core", "general", "cron"],
  ],
  "protocol/hand-over": [
    ...["protocol/run", "protocol/change", "protocol/send", "protocol/gate", "protocol/store", "protocol"],
    ...["core", "general", "cron"],
  ],
  aws: ["protocol", "core", "general"],
  http: [
    ...["protocol/file", "protocol/change", "protocol/run", "protocol/read", "protocol/hand-over"],
    ...["protocol/store", "protocol", "settings", "core", "general"],
  ],
  environment: ["aws", "protocol", "settings", "core", "general"],
  client: ["environment", "http", "aws", "protocol", "settings", "core", "general"],
  consumer: [
    ...["environment", "http", "aws", "protocol/run", "protocol/file", "protocol/send", "protocol/store"],
    ...["protocol", "settings", "core", "general"],
  ],
  functions: ["environment", "consumer", "http", "protocol/file", "protocol/hand-over", "core"],
  infra: ["settings", "core", "general", "cron"],
  // The local stack plays the synthesised template, so it needs no code of the queue.
  local: ["general", "cron"],
  testing: [
    ...["client", "consumer", "environment", "http", "protocol/file", "protocol/hand-over", "protocol/gate"],
    ...["protocol/store", "protocol"],
    ...["settings", "core", "general", "cron"],
  ],
  // The server of the console. Its page runs in a browser, so it may import only what needs no Node.
  console: ["local", "client", "core", "general"],
  "console/page": ["console", "client", "http", "cron", "core", "general"],
  cli: ["infra", "console", "client", "consumer", "http", "aws", "local", "settings", "core", "general"],
  package: ["infra", "console"],
  site: ["bench", "cli", "http", "infra", "settings", "core", "general"],
  // Examples import the package by its name, as users do.
  examples: [],
};

/** Tests, benchmarks and `torture`, which may import every room. */
const FREE = /^(?:test|tools\/(?:bench|torture))\//;
/** The rooms that import the AWS SDK: the ports, and the local stack, which plays AWS's services. */
const WITH_SDK = ["aws", "local"];
const SDK = /^@(?:aws-sdk|smithy)\//;

export type Broken = { readonly file: string; readonly imports: string; readonly rule: string };

/** The imports of these files, by their paths from `root`, that the table does not allow. */
export function brokenImports(root: string, files: readonly string[]): Broken[] {
  return files
    .filter((file) => !FREE.test(file))
    .flatMap((file) =>
      importsOf(join(root, file)).flatMap((imports): Broken[] => {
        const rule = brokenRule(file, imports);
        return rule === undefined ? [] : [{ file, imports, rule }];
      }),
    );
}

function brokenRule(file: string, imports: string): string | undefined {
  const room = roomOf(file);
  if (SDK.test(imports) && !WITH_SDK.includes(room))
    return `only ${WITH_SDK.join(" and ")} import the AWS SDK`;
  if (!imports.startsWith(".") || imports.endsWith(".json")) return undefined;
  const other = roomOf(normalize(join(file, "..", imports)));
  const allowed = MAY_IMPORT[room];
  if (!allowed) return `room ${room} is not named in layers.ts`;
  if (other === room || allowed.includes(other)) return undefined;
  return `${room} may import only ${[room, ...allowed].join(", ")}`;
}

/**
 * The room of a file: `protocol/run` for `src/protocol/run/claim.ts`, `http` for `src/http/routes/jobs.ts`. A folder of `protocol` or
 * `console` is a room of its own.
 */
function roomOf(file: string): string {
  const [top = "", second = "", ...rest] = file.replace(/^(?:src|tools)\//, "").split("/");
  return ["protocol", "console"].includes(top) && rest.length > 0 ? `${top}/${second}` : top;
}

/** The modules that a file imports, also for types only. */
function importsOf(path: string): string[] {
  const { module } = parseSync(path, readFileSync(path, "utf8"));
  const dynamic = module.dynamicImports.flatMap(({ moduleRequest: { start, end } }) => {
    const text = readFileSync(path, "utf8").slice(start, end);
    return /^["'](.*)["']$/.exec(text)?.[1] ?? [];
  });
  const exported = module.staticExports.flatMap(({ entries }) =>
    entries.flatMap(({ moduleRequest }) => moduleRequest?.value ?? []),
  );
  return [...module.staticImports.map(({ moduleRequest }) => moduleRequest.value), ...exported, ...dynamic];
}

if (import.meta.main) {
  const root = join(import.meta.dirname, "..");
  const files = globSync("*/**/*.{ts,tsx}", {
    cwd: root,
    exclude: ["node_modules/**", "dist/**", "cdk.out/**", ".minutehand/**"],
  });
  const broken = brokenImports(root, files);
  for (const { file, imports, rule } of broken) console.error(`${file} imports ${imports}: ${rule}`);
  if (broken.length > 0) process.exitCode = 1;
}
