import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { type Command, Option } from "commander";
import { manifestOf, packageManagerOf, workspaceOf } from "../../general/package-manager.ts";
import { readText } from "../../general/read-text.ts";
import { topicName } from "../arguments.ts";
import { CliError, UsageError } from "../cli-error.ts";
import { examples } from "../examples.ts";
import { type PlainPlan, planPlain } from "../init/plain.ts";
import { manifestIn, type Plan, planInit } from "../init/plan.ts";
import {
  type Asked,
  type Folder,
  knownRunner,
  MODULES,
  packagesOf,
  RUNNER_NAMES,
  RUNNERS,
} from "../init/project.ts";
import type { Open, Session } from "../session.ts";

const ABOUT = `
In a folder without cdk.json it writes a CDK app; in a CDK app it prints the lines to add to your stack.
For each topic it writes a handler, and a test for the runner that your project has: Jest, Vitest or
Node's own. The code is an ES module or CommonJS, as your package. It adds missing scripts and packages
to package.json, and missing lines to .gitignore and tsconfig.json. It overwrites no file. A further
topic is added to the topics.ts and the app that init wrote, unless their shape has changed. It refuses
a topic that topics.ts has with another body than { id: string } and that lacks its handler or test.

With --template it writes minutehand.json and .gitignore, for programs in any language that pull their jobs,
or adds the topics to the minutehand.json that is there.`;

/** `npm init` writes "commonjs" without asking, so a user may be surprised. */
const WHY_COMMONJS =
  'The folder has code and its package.json no "type": "module", so the new code is CommonJS.';

type Flags = { topic?: string[]; template?: true } & Asked;

export function addInit(program: Command, open: Open): void {
  const command = program
    .command("init")
    .description("write an app, a handler and a test for each topic, or add them to your CDK app")
    .option("--topic <topic>", "a topic; repeat the flag for more (default: asks, on a terminal)", topicName)
    .addOption(
      new Option(
        "--runner <runner>",
        "what runs the tests (default: what your project has, or node)",
      ).choices(RUNNERS),
    )
    .addOption(
      new Option(
        "--module <module>",
        "the kind of the code (default: your package's, or esm in an empty folder)",
      ).choices(MODULES),
    )
    .addOption(
      new Option(
        "--template",
        "write minutehand.json in place of an app in TypeScript, with topics that programs pull",
      ).conflicts(["runner", "module"]),
    )
    .action(async ({ topic, template, ...flags }: Flags) => {
      const session = open();
      const folder = folderAt(session.surroundings.folder);
      if (template) return initPlain(session, topic ?? (await askForTopics(session)), folder);
      const asked = topic === undefined ? await askFor(session, folder, flags) : { topics: topic, ...flags };
      const plan = withManifest(() => planInit([...new Set(asked.topics)], folder, asked));
      writeFiles(session.surroundings.folder, plan);
      await tell(session, plan);
    });
  examples(command, [
    "minutehand init",
    "minutehand init --topic order-timeout --topic refund",
    "minutehand init --topic order-timeout --runner vitest",
    "minutehand init --template --topic thumbnail",
  ]);
  command.addHelpText("after", ABOUT);
}

async function initPlain(session: Session, topics: readonly string[], folder: Folder): Promise<void> {
  const plan = withManifest(() => planPlain([...new Set(topics)], folder));
  writeFiles(session.surroundings.folder, plan);
  const { write, change, kept, next } = plan;
  const found = { app: "template" };
  const files = { wrote: Object.keys(write), changed: Object.keys(change), kept };
  if (session.output.json) return session.output.document({ found, ...files, add: [], next });
  const title = "A queue without the CDK: programs pull the jobs of its topics";
  await session.output.line([title, "", ...linesOf(plan), ...nextLines(next)].join("\n"));
}

async function askFor(
  session: Session,
  folder: Folder,
  flags: Asked,
): Promise<Asked & { topics: readonly string[] }> {
  const topics = await askForTopics(session);
  const found =
    flags.runner ??
    withManifest(() => {
      const manifest = manifestIn(folder);
      return knownRunner(packagesOf(folder, manifest), manifest);
    });
  return { ...flags, topics, runner: found ?? (await askForRunner(session)) };
}

async function askForTopics({ isAttended, ask }: Session): Promise<string[]> {
  if (!isAttended)
    throw new UsageError(
      "init needs --topic, because there is no terminal on which it can ask for the topics",
    );
  const names = (await ask("Topics, such as order-timeout refund:")).split(/[\s,]+/).filter(Boolean);
  if (names.length === 0) throw new UsageError("init needs one topic or more");
  return names.reduce<string[]>((before, name) => {
    try {
      return topicName(name, before);
    } catch (error) {
      throw new UsageError(`the topic '${name}' is invalid. ${(error as Error).message}`);
    }
  }, []);
}

async function askForRunner({ ask }: Session): Promise<NonNullable<Asked["runner"]>> {
  const named = (await ask("What runs the tests, node or vitest? [node]")) || "node";
  const runner = RUNNERS.find((one) => one === named);
  if (runner !== undefined) return runner;
  throw new UsageError(`the runner '${named}' is invalid. It must be node or vitest.`);
}

function folderAt(path: string): Folder {
  const workspace = workspaceOf(path);
  return {
    name: basename(path),
    files: filesIn(path, "", 5),
    manager: packageManagerOf(path),
    workspace: workspace === undefined ? {} : manifestOf(workspace),
    read(file) {
      try {
        return readText(join(path, file));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
        throw new CliError(`${file} cannot be read: ${(error as NodeJS.ErrnoException).code}`);
      }
    },
  };
}

/** Names the files of a folder and of `depth - 1` levels below it, without hidden folders, packages and builds. */
function filesIn(root: string, under: string, depth: number): string[] {
  const entries = readdirSync(join(root, under), { withFileTypes: true });
  return entries.flatMap((entry) => {
    const path = under === "" ? entry.name : `${under}/${entry.name}`;
    if (entry.isFile()) return [path];
    const isOwn =
      entry.isDirectory() && !/^(\..*|node_modules|cdk\.out|dist|build|coverage)$/.test(entry.name);
    return isOwn && depth > 1 ? filesIn(root, path, depth - 1) : [];
  });
}

function withManifest<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof SyntaxError)
      throw new CliError(`package.json must be a JSON object: ${error.message}`);
    throw error;
  }
}

function writeFiles(folder: string, { write, change }: PlainPlan): void {
  for (const [path, text] of Object.entries({ ...write, ...change })) {
    const file = join(folder, path);
    try {
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text, { flag: path in change ? "w" : "wx" });
    } catch (error) {
      throw new CliError(`${path} cannot be written: ${(error as NodeJS.ErrnoException).code}`);
    }
  }
}

async function tell({ output }: Session, plan: Plan): Promise<void> {
  const { project, write, change, kept, add, next } = plan;
  const { isNewApp, isBare, module, runner, jobs, tests } = project;
  const wrote = Object.keys(write);
  const changed = Object.keys(change);
  const found = { app: isNewApp ? "new" : "cdk", module, runner };
  if (output.json) return output.document({ found, wrote, changed, kept, add, next });
  const text = [
    `${isNewApp ? "A new CDK app" : "Your CDK app"}, ${module === "esm" ? "ES modules" : "CommonJS"}: ` +
      `handlers in ${jobs}/, tests in ${tests}/ for ${RUNNER_NAMES[runner]}`,
    ...(isBare || !isNewApp || module === "esm" ? [] : [WHY_COMMONJS]),
    "",
    ...linesOf(plan),
    ...add.flatMap(({ to, lines }) => ["", `Add to ${to}:`, "", ...indented(lines)]),
    ...nextLines(next),
  ];
  await output.line(text.join("\n"));
}

function linesOf({ write, change, kept }: PlainPlan): string[] {
  return [
    ...Object.keys(write).map((path) => `wrote ${path}`),
    ...Object.keys(change).map((path) => `added to ${path}`),
    ...kept.map((path) => `left  ${path} as it is`),
  ];
}

function nextLines(next: readonly string[]): string[] {
  return ["", "Next:", "", ...indented(next)];
}

function indented(lines: readonly string[]): string[] {
  return lines.map((line) => `  ${line}`.trimEnd());
}
