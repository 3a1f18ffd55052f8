import { readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { Command } from "commander";
import type { PlainConfig } from "../../../infra/plain/config.ts";
import { MinutehandError, messageOf } from "../../core/errors.ts";
import { parseJson } from "../../core/json.ts";
import { missingPackages } from "../../general/optional-packages.ts";
import { readText } from "../../general/read-text.ts";
import { isLoopback } from "../../settings/loopback.ts";
import { policyIn } from "../../settings/policy-text.ts";
import { CliError, UsageError } from "../cli-error.ts";
import { many } from "../columns.ts";
import { examples } from "../examples.ts";
import type { Open, Session } from "../session.ts";
import { writeFolder } from "../written-folder.ts";

type TemplateFlags = { readonly out?: string; readonly config: string; readonly force?: true };

export const CONFIG = "minutehand.json";
const SMALLEST = '{ "topics": { "work": { "consumer": "pull" } } }';
const ABOUT = `
The file has the topics and settings of a queue, as the construct DelayQueue takes them:
${SMALLEST}. The folder gets template.json, and the code of the
functions in functions/. The same file gives the same bytes. Needs neither an AWS account nor
"cdk bootstrap". The guide "Without the CDK" (docs/guides/without-cdk.md) shows how to deploy the folder
with the AWS CLI, Terraform and SST.

To run the queue on this machine: minutehand local, in the folder of minutehand.json`;

export function addTemplate(program: Command, open: Open): void {
  const command = program
    .command("template")
    .description("write a CloudFormation template of a queue, for deployments without the CDK")
    .option("--out <folder>", "new or empty folder for the template and the functions")
    .option("--config <file>", "JSON file with topics and settings", CONFIG)
    .option("--force", "replace what an earlier run has written into the folder")
    .action(async (flags: TemplateFlags) => {
      const session = open();
      const missing = missingPackages("minutehand template", ["aws-cdk-lib", "constructs"]);
      if (missing !== undefined) throw new CliError(missing);
      await writeTemplate(session, flags);
    });
  examples(command, [
    "minutehand template --out deploy",
    "minutehand template --config staging.json --out staging",
  ]);
  command.addHelpText("after", ABOUT);
}

async function writeTemplate(session: Session, flags: TemplateFlags): Promise<void> {
  const { folder, env } = session.surroundings;
  const { out, force = false } = flags;
  // `minutehand local` gives this folder to each app that it runs.
  const { CDK_OUTDIR: assembly } = env;
  if (out === undefined && !assembly)
    throw new UsageError("template needs --out, the folder for the template");
  // Only this command needs the CDK, which takes a second to load.
  const { configFaults, DEFAULT_STACK, localConfig } = await import("../../../infra/plain/config.ts");
  const { plainTemplate, synthesise } = await import("../../../infra/plain/template.ts");
  const file = resolve(folder, flags.config);
  const given = readJson(file, flags.config);
  const faults = configFaults(given, out === undefined);
  if (faults.length > 0) throw invalid(flags.config, faults);
  const config = given as PlainConfig;
  if (out === undefined)
    return void orRefuse(flags.config, () => synthesise(localConfig(config), dirname(file), `${assembly}`));
  const { files, parameters, warnings } = orRefuse(flags.config, () => plainTemplate(config, dirname(file)));
  const topics = topicsChange(topicsIn(join(resolve(folder, out), "template.json")), config);
  const changed = writeFolder(resolve(folder, out), out, files, force);
  for (const warning of [...warnings, ...unreachableReceivers(config)])
    session.output.note(`warning: ${warning}`);
  const { stackName: stack = DEFAULT_STACK, removable = false } = config;
  await tell(session, { out, stack, parameters, topics, removable, ...changed });
}

function readJson(file: string, name: string): unknown {
  try {
    const text = readText(file);
    const value: unknown = JSON.parse(text);
    // This reader also refuses a name that an object has twice, of which only the last would count.
    parseJson(text);
    return value;
  } catch (error) {
    if (error instanceof MinutehandError) throw new CliError(`${name} is invalid: ${error.message}`);
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw new CliError(`${name} must be JSON: ${messageOf(error)}`);
    if (code === "ENOENT")
      throw new CliError(
        `there is no file ${name}: write one, such as ${SMALLEST}. See "minutehand template --help"`,
      );
    throw new CliError(`${name} cannot be read: ${code}`);
  }
}

/** How the construct names itself in its errors. The file has no construct. */
const CONSTRUCT = /\bDelayQueue Minutehand\/Jobs(?:( has invalid props:)|: )/;

/** Shows the construct's errors, which have a line for each broken rule, as errors of the file. */
function orRefuse<T>(file: string, make: () => T): T {
  try {
    return make();
  } catch (error) {
    const [first = "", ...rules] = messageOf(error).split(/\n\s*/);
    const told = [first.replace(CONSTRUCT, ""), ...rules].join("; ");
    const refusal = CONSTRUCT.exec(first)?.[1] ? invalid(file, rules) : new CliError(told);
    throw Object.assign(refusal, { cause: error });
  }
}

function invalid(file: string, rules: readonly string[]): CliError {
  const text = `${file} is invalid:`;
  return rules.length === 1 ? new CliError(`${text} ${rules[0]}`) : new CliError(text, rules);
}

/** Warns of webhooks to this machine: the functions run on AWS, where no receiver listens at such an address. */
function unreachableReceivers({ topics }: PlainConfig): string[] {
  return Object.entries(topics).flatMap(([topic, { webhook }]) => {
    const { hostname = "" } = URL.parse(webhook?.url ?? "") ?? {};
    return isLoopback(hostname) ? `topic ${topic} calls ${hostname}, where no receiver is on AWS` : [];
  });
}

type TopicsChange = { readonly added: readonly string[]; readonly removed: readonly string[] };

/** Without an earlier template, every topic is new, and nothing has changed. */
function topicsChange(before: readonly string[] | undefined, { topics }: PlainConfig): TopicsChange {
  const now = Object.keys(topics);
  if (before === undefined) return { added: [], removed: [] };
  return {
    added: now.filter((topic) => !before.includes(topic)),
    removed: before.filter((topic) => !now.includes(topic)),
  };
}

/** The topics of an earlier template. `undefined`: there is none that can be read. */
function topicsIn(file: string): string[] | undefined {
  try {
    const { Resources } = JSON.parse(readFileSync(file, "utf8")) as { Resources: Record<string, Resource> };
    const policies = Object.values(Resources).map(
      ({ Properties }) => Properties?.Environment?.Variables?.MINUTEHAND_POLICY,
    );
    const policy = policies.find((text) => text !== undefined);
    return policy === undefined ? undefined : Object.keys(policyIn(policy).topics);
  } catch {
    return undefined;
  }
}

type Resource = {
  readonly Properties?: {
    readonly Environment?: { readonly Variables?: { readonly MINUTEHAND_POLICY?: string } };
  };
};

type Told = {
  readonly out: string;
  readonly stack: string;
  readonly parameters: readonly string[];
  readonly topics: TopicsChange;
  readonly removable: boolean;
} & ReturnType<typeof writeFolder>;

async function tell({ output }: Session, told: Told): Promise<void> {
  const { out, stack, parameters, topics, removable, wrote, deleted } = told;
  const values = parameters.map((name) => ` ${name}=…`).join("");
  const next = [
    `aws cloudformation package --template-file ${join(out, "template.json")} --s3-bucket BUCKET --use-json --output-template-file packaged.json`,
    `aws cloudformation deploy --template-file packaged.json --s3-bucket BUCKET --stack-name ${stack} --capabilities CAPABILITY_IAM` +
      (values && ` --parameter-overrides${values}`),
  ];
  const text = [
    `wrote ${many(wrote, "file")} into ${out}${deleted > 0 ? `, and deleted ${many(deleted, "old file")}` : ""}`,
    ...topics.added.map((topic) => `added the topic ${topic}`),
    ...topics.removed.map(
      (topic) =>
        `removed the topic ${topic}: its waiting jobs will be dead an hour after they are due, and its queues ${removable ? "are deleted" : "stay"}. Cancel or run these jobs before you deploy`,
    ),
    "",
    "Next:",
    "",
    ...next.map((line) => `  ${line}`),
  ];
  if (output.json) await output.document({ wrote, deleted, parameters, topics, next });
  else await output.line(text.join("\n"));
}
