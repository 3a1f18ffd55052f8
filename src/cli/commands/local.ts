import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Command, Option } from "commander";
import { DATABASES, type Database } from "../../../local/processes/database.ts";
import { DATA_FOLDER } from "../../../local/runner-record.ts";
import { wholeNumber } from "../arguments.ts";
import { judgeNode } from "../checks.ts";
import { CliError, UsageError } from "../cli-error.ts";
import { examples } from "../examples.ts";
import { type GlobalOptions, nameToAws } from "../session.ts";
import type { Surroundings } from "../surroundings.ts";
import { LOCAL_PORT, LOCAL_URL } from "../target.ts";
import { STOP_MS, unfinishedTexts } from "../unfinished-actions.ts";
import { CONFIG } from "./template.ts";

type LocalFlags = {
  app?: string;
  config?: string;
  watch: boolean;
  typeCheck: boolean;
  port: number;
  data: string;
  reset?: boolean;
  database?: Database;
};

const ABOUT = `
If the app has several delay queues, choose a stack with --stack <name>.

To use another service instead of an embedded one, set AWS_ENDPOINT_URL_DYNAMODB,
AWS_ENDPOINT_URL_SQS, AWS_ENDPOINT_URL_SCHEDULER, AWS_ENDPOINT_URL_SECRETS_MANAGER or
AWS_ENDPOINT_URL_EVENTBRIDGE to its URL. If any AWS_ENDPOINT_URL* is set, functions also get the
region and the keys of this shell. They then call AWS itself for each service that has no such
variable. "endpoints" in runner.json in the data folder has the addresses of all services, for
aws --endpoint-url or an SDK. They take any signature. To put an event: minutehand event put. Webhooks
may call http: URLs and this machine. Their secrets: minutehand receiver-secret <url> --topic <topic>.`;

export function addLocal(program: Command, surroundings: Surroundings): void {
  const command = program
    .command("local")
    .description("run your app's stack on this machine, and reload its functions when you save them")
    .option(
      "--app <command>",
      "command that runs the CDK app (default: from cdk.json, else minutehand template)",
    )
    .option("--config <file>", `JSON file to run instead of ${CONFIG}, without an app of the CDK`)
    .option("--no-watch", "do not reload functions when you save them")
    .option("--no-type-check", "do not look for type errors in the background")
    .option(
      "--port <n>",
      "port of the API on 127.0.0.1; 0 picks a free port",
      wholeNumber(0, 65_535),
      LOCAL_PORT,
    )
    .option("--data <folder>", "folder for jobs, messages, schedules and secrets", DATA_FOLDER)
    .addOption(
      new Option(
        "--database <kind>",
        "embedded DynamoDB: native, where it is installed, or portable (default: native, else portable)",
      ).choices(DATABASES),
    )
    .option("--reset", "first delete all data of the folder except the secrets")
    .action((flags: LocalFlags) => runStack(program.opts<GlobalOptions>(), flags, surroundings));
  examples(command, [
    "minutehand local",
    'minutehand local --app "node app.ts" --port 0',
    "minutehand local --config local.json",
    "minutehand local --reset",
  ]);
  command.addHelpText("after", ABOUT);
}

async function runStack(
  options: GlobalOptions,
  { data, reset = false, app: given, config, ...flags }: LocalFlags,
  { nodeVersion, env, folder, wait }: Surroundings,
): Promise<void> {
  nameToAws(options, env);
  if (given !== undefined && config !== undefined)
    throw new UsageError("local takes either --app or --config, got both");
  const { result, todo } = judgeNode(nodeVersion);
  if (result !== "ok") throw new CliError(`${todo}, got ${nodeVersion}`);
  // Load the runner only after the check, because it imports modules that an older Node does not have.
  const { runLocal } = await import("../../../local/run.ts");
  const { localConsole } = await import("../../../console/local-console.ts");
  const { stopActions, ...console } = await localConsole(folder);
  const beforeStop = async ({ url }: { url: string }) => {
    const unfinished = await stopActions(wait(STOP_MS));
    // Commands find the stack of this folder themselves, also at another port.
    return unfinishedTexts(unfinished, data === DATA_FOLDER ? {} : { url }, {});
  };
  const { stack, debug = false } = options;
  const app = given ?? plainApp(folder, config);
  const named = { ...flags, ...(app && { app }), dataDir: data, stack };
  await runLocal({ ...named, reset, debug, defaultUrl: LOCAL_URL, console, beforeStop });
}

/** `config`: the file that is named. A folder with the file of `minutehand template` and without an app of the CDK runs that file. */
function plainApp(folder: string, config: string | undefined): string | undefined {
  // The shell runs the command, so a name with a blank needs quotes.
  if (config !== undefined) return `minutehand template --config "${config}"`;
  const has = (name: string) => existsSync(join(folder, name));
  return !has("cdk.json") && has(CONFIG) ? "minutehand template" : undefined;
}
