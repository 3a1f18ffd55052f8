import type { Command } from "commander";
import { wholeNumber } from "../arguments.ts";
import { judgeNode } from "../checks.ts";
import { CliError } from "../cli-error.ts";
import { examples } from "../examples.ts";
import { type GlobalOptions, nameToAws } from "../session.ts";
import type { Surroundings } from "../surroundings.ts";

type LocalFlags = { app?: string; watch: boolean; port: number; data: string; reset?: boolean };

const ABOUT = `
Of an app with several delay queues --stack <name> says whose stack is run.

AWS_ENDPOINT_URL_DYNAMODB, AWS_ENDPOINT_URL_SQS, AWS_ENDPOINT_URL_SCHEDULER,
AWS_ENDPOINT_URL_SECRETS_MANAGER and AWS_ENDPOINT_URL_EVENTBRIDGE, if set, name a service to use
instead of the embedded one. With any AWS_ENDPOINT_URL* set functions get this shell's region and
keys too, with which they call AWS itself where no such variable names a service. Events are put at
the services' address in the data folder's runner.json. Requests need no signature: IAM auth is for
the deployed API. Webhooks may call http: and this machine; what signs them is in the data folder's
secrets.json.`;

export function addLocal(program: Command, { nodeVersion, env }: Surroundings): void {
  const command = program
    .command("local")
    .description("run your app's stack on this machine, and its functions anew when they are saved")
    .option("--app <command>", "that runs the CDK app, else what cdk.json says")
    .option("--no-watch", "leave functions as they are when they are saved")
    .option("--port <n>", "of the API on 127.0.0.1; 0 picks a free one", wholeNumber(0, 65_535), 4500)
    .option("--data <folder>", "that keeps jobs, messages, schedules and secrets", ".minutehand")
    .option("--reset", "drop all of them but the secrets first")
    .action(async ({ app, watch, port, data, reset = false }: LocalFlags) => {
      const options = program.opts<GlobalOptions>();
      nameToAws(options, env);
      const { result, todo } = judgeNode(nodeVersion);
      if (result !== "ok") throw new CliError(`${todo}, this is ${nodeVersion}`);
      // What it imports is loaded by nobody else, and is not there in an older Node.
      const { runLocal } = await import("../../local/run.ts");
      await runLocal({ app, watch, port, dataDir: data, reset, stack: options.stack });
    });
  examples(command, [
    "minutehand local",
    'minutehand local --app "node app.ts" --port 0',
    "minutehand local --reset",
  ]);
  command.addHelpText("after", ABOUT);
}
