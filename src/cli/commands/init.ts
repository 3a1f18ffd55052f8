import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { Command } from "commander";
import { topicName } from "../arguments.ts";
import { CliError, UsageError } from "../cli-error.ts";
import { examples } from "../examples.ts";
import { type Plan, planInit, type Read } from "../init/plan.ts";
import type { Open, Session } from "../session.ts";

const ABOUT = `
In a folder without cdk.json it writes a CDK app: cdk.json, app.ts, and for each topic a handler and a
test in jobs/. In a folder with cdk.json it writes the handlers and tests, and prints the lines to add to
your app. It adds missing scripts and packages to package.json. It overwrites no file.`;

export function addInit(program: Command, open: Open): void {
  const command = program
    .command("init")
    .description("write an app, a handler and a test for each topic, or add them to your CDK app")
    .option("--topic <topic>", "a topic; repeat the flag for more (default: asks, on a terminal)", topicName)
    .action(async ({ topic }: { topic?: string[] }) => {
      const session = open();
      const topics = topic ?? (await askForTopics(session));
      const { folder } = session.surroundings;
      const plan = planIn(folder, [...new Set(topics)]);
      writeFiles(folder, plan);
      await tell(session, plan);
    });
  examples(command, ["minutehand init", "minutehand init --topic order-timeout --topic refund"]);
  command.addHelpText("after", ABOUT);
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

function planIn(folder: string, topics: readonly string[]): Plan {
  const read: Read = (path) => {
    try {
      return readFileSync(join(folder, path), "utf8");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw new CliError(`${path} cannot be read: ${(error as NodeJS.ErrnoException).code}`);
    }
  };
  try {
    return planInit(topics, basename(folder), read);
  } catch (error) {
    if (error instanceof SyntaxError)
      throw new CliError(`package.json must be a JSON object: ${error.message}`);
    throw error;
  }
}

function writeFiles(folder: string, { write }: Plan): void {
  for (const [path, text] of Object.entries(write)) {
    const file = join(folder, path);
    try {
      mkdirSync(dirname(file), { recursive: true });
      // package.json alone is changed in place: the plan adds to its text.
      writeFileSync(file, text, { flag: path === "package.json" ? "w" : "wx" });
    } catch (error) {
      throw new CliError(`${path} cannot be written: ${(error as NodeJS.ErrnoException).code}`);
    }
  }
}

async function tell({ output }: Session, { write, kept, add, next }: Plan): Promise<void> {
  const wrote = Object.keys(write);
  if (output.json) return output.document({ wrote, kept, add, next });
  const indented = (lines: readonly string[]): string[] => lines.map((line) => `  ${line}`.trimEnd());
  const text = [
    ...wrote.map((path) => `${path === "package.json" ? "added to" : "wrote"} ${path}`),
    ...kept.map((path) => `left  ${path} as it is`),
    ...add.flatMap(({ to, lines }) => ["", `Add to ${to}:`, "", ...indented(lines)]),
    "",
    "Next:",
    "",
    ...indented(next),
  ];
  await output.line(text.join("\n"));
}
