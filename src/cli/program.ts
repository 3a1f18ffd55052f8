import { Command, Option } from "commander";
import packageJson from "../../package.json" with { type: "json" };
import { NAMES_ELSEWHERE } from "../general/unknown-names.ts";
import { addCancel } from "./commands/cancel.ts";
import { addClock } from "./commands/clock.ts";
import { addCompletion } from "./commands/completion.ts";
import { addConsole } from "./commands/console.ts";
import { addDead } from "./commands/dead.ts";
import { addDismiss } from "./commands/dismiss.ts";
import { addDoctor } from "./commands/doctor.ts";
import { addEnqueue } from "./commands/enqueue.ts";
import { addErase } from "./commands/erase.ts";
import { addEvent } from "./commands/event.ts";
import { addExport } from "./commands/export.ts";
import { addForecast } from "./commands/forecast.ts";
import { addGet } from "./commands/get.ts";
import { addImport } from "./commands/import.ts";
import { addInit } from "./commands/init.ts";
import { addList } from "./commands/list.ts";
import { addLocal } from "./commands/local.ts";
import { addMcp } from "./commands/mcp.ts";
import { addPauses } from "./commands/pauses.ts";
import { addProve } from "./commands/prove.ts";
import { addReceiverSecret } from "./commands/receiver-secret.ts";
import { addRedrive } from "./commands/redrive.ts";
import { addReschedule } from "./commands/reschedule.ts";
import { addRestore } from "./commands/restore.ts";
import { addSchedules } from "./commands/schedules.ts";
import { addTail } from "./commands/tail.ts";
import { addTemplate } from "./commands/template.ts";
import { addTopics } from "./commands/topics.ts";
import { addWarm } from "./commands/warm.ts";
import { examples } from "./examples.ts";
import type { GlobalOptions, Open, Session } from "./session.ts";
import type { Surroundings } from "./surroundings.ts";

export const OK = 0;
export const FAILED = 1;
export const WRONGLY_CALLED = 2;
export const INTERRUPTED = 130;

const ABOUT = `
Exit codes:
  ${OK}    the command succeeded
  ${FAILED}    the command failed or was refused; doctor: a check failed
  ${WRONGLY_CALLED}    the command line is wrong, and nothing was done
  ${INTERRUPTED}  Ctrl-C interrupted the command; tail and console run until then (local ends with 0)

A command calls the API of --url or --stack, else the local stack that runs in this folder or above,
else the API at MINUTEHAND_URL, else http://127.0.0.1:4500.

Environment variables: MINUTEHAND_URL, MINUTEHAND_TOKEN, NO_COLOR, and those of the AWS SDK.`;

function hintFor(refusal: string, { options, registeredArguments }: Command): string {
  if (!refusal.startsWith("error: unknown ")) return "";
  const [, name = ""] = /^error: unknown option '--([\w-]+)'$/.exec(refusal) ?? [];
  if (registeredArguments.some((argument) => argument.name() === name))
    return `: <${name}> is an argument, and no option: see --help`;
  const meant = NAMES_ELSEWHERE.get(camelCase(name)) ?? "";
  const option = options.find((one) => one.attributeName() === meant);
  return option === undefined ? ": see --help" : ` (Did you mean ${option.long}?): see --help`;
}

function camelCase(name: string): string {
  return name.replaceAll(/-(\w)/g, (_, first: string) => first.toUpperCase());
}

/** commander writes its suggestion on a second line. Keeps the message on one line. */
function plainRefusal(refusal: string): string {
  return refusal
    .replace("error:", "minutehand:")
    .replace("\n", " ")
    .replace(
      /command-argument (value '.*') is invalid for (argument '\w+')\./,
      "the $1 of the $2 is invalid.",
    );
}

function printErrors(command: Command): void {
  command.configureOutput({
    outputError: (text, write) => {
      write(`${plainRefusal(text.trim())}${hintFor(text.trim(), command)}\n`);
    },
  });
  command.commands.forEach(printErrors);
}

export function createProgram(
  surroundings: Surroundings,
  begin: (options: GlobalOptions) => Session,
): Command {
  const { stdout, stderr } = surroundings;
  const program = new Command("minutehand");
  program
    .description("A serverless delay queue on AWS: do this later, exactly then, unless I change my mind.")
    .version(packageJson.version)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void stdout.write(text),
      writeErr: (text) => void stderr.write(text),
    })
    .configureHelp({ showGlobalOptions: true });
  addGlobalOptions(program);
  examples(program, [
    "minutehand local",
    `minutehand enqueue order-timeout --key order-17 --delay 30m --body '{"orderId": 17}'`,
    "minutehand topics --stack Shop",
  ]);
  program.addHelpText("after", ABOUT);

  addCommands(program, surroundings, () => begin(program.opts<GlobalOptions>()));
  printErrors(program);
  checkRequiredLast(program);
  return program;
}

/** Lets commander name an unknown option first: `--bdy` is the cause of a missing `--body`. */
function checkRequiredLast(command: Command): void {
  const required = command.options.filter(({ mandatory }) => mandatory);
  for (const option of required) option.makeOptionMandatory(false);
  if (required.length > 0) {
    command.hook("preAction", () => {
      const missing = required.find((option) => command.getOptionValue(option.attributeName()) === undefined);
      if (missing) command.error(`error: required option '${missing.flags}' not specified`);
    });
  }
  command.commands.forEach(checkRequiredLast);
}

function addGlobalOptions(program: Command): void {
  program
    .addOption(new Option("--url <url>", "URL of the API").conflicts("stack"))
    .option("--stack <name>", "CloudFormation stack with the API; for local: the stack of the app to run")
    .option(
      "--region <region>",
      "AWS region (default: AWS_REGION, AWS_DEFAULT_REGION or the profile's region)",
    )
    .option("--profile <name>", "profile of the AWS configuration (default: AWS_PROFILE)")
    .option("--token <token>", "bearer token, for an API that takes one; MINUTEHAND_TOKEN is safer")
    .option("--json", "print data as JSON: one document, or one line for each entry of a list")
    .option("--no-color", "print no colours, as with NO_COLOR")
    .option("--debug", "print errors with their stack traces");
}

function addCommands(program: Command, surroundings: Surroundings, open: Open): void {
  program.commandsGroup("Jobs:");
  addEnqueue(program, open);
  addGet(program, open);
  addList(program, open);
  addReschedule(program, open);
  addCancel(program, open);
  addErase(program, open);
  addForecast(program, open);
  addTail(program, open);
  program.commandsGroup("Topics:");
  addTopics(program, open);
  addDead(program, open);
  addRedrive(program, open);
  addDismiss(program, open);
  addPauses(program, open);
  program.commandsGroup("Recurring jobs:");
  addSchedules(program, open);
  program.commandsGroup("Events:");
  addEvent(program, open);
  program.commandsGroup("Webhooks:");
  addReceiverSecret(program, open);
  program.commandsGroup("Stacks:");
  addInit(program, open);
  addLocal(program, surroundings);
  addClock(program, open);
  addTemplate(program, open);
  addConsole(program, open);
  addDoctor(program, open);
  addWarm(program, open);
  addRestore(program, open);
  addProve(program, open);
  addExport(program, open);
  addImport(program, open);
  program.commandsGroup("This program:");
  program.helpCommand("help [command]", "show the arguments and options of a command");
  addCompletion(program, open);
  addMcp(program, open);
}
