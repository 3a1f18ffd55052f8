import { parseArgs } from "node:util";
import { LocalError, messageOf } from "./local-error.ts";

export type CommandLine = {
  help: boolean;
  port: number;
  reset: boolean;
  dataDir: string;
  app: string | undefined;
  watch: boolean;
};

export const HELP = `Runs Minutehand on this machine: the synthesised stack's functions, queues, table, routes, secrets, schedules,
rules for events and minute tick.

  minutehand local [options]      (in Minutehand's own repository: npm run local -- [options])

  --app "CMD"  command that runs the CDK app, such as "node app.ts" (default: what cdk.json says)
  --no-watch   leave functions as they are when their code is saved
  --port N     port of the HTTP API on 127.0.0.1 (default 4500; 0 picks a free one)
  --data DIR   folder that keeps jobs, messages, schedules and secrets across restarts (default .minutehand)
  --reset      drop all of them but the secrets first
  --help       this text

AWS_ENDPOINT_URL_DYNAMODB, AWS_ENDPOINT_URL_SQS, AWS_ENDPOINT_URL_SCHEDULER, AWS_ENDPOINT_URL_SECRETS_MANAGER and
AWS_ENDPOINT_URL_EVENTBRIDGE, if set, name a service to use instead of the embedded one. Events are put at the
services' address in DIR/runner.json. Requests need no signature here: IAM auth is for the deployed API. Webhooks may call http: and this machine; what signs them is in DIR/secrets.json.`;

/** Reads the arguments after the program's name. Throws `LocalError` for what it does not know. */
export function parseCommandLine(args: readonly string[]): CommandLine {
  const { values } = parseStrictly(args);
  return {
    help: values.help,
    port: parsePort(values.port),
    reset: values.reset,
    dataDir: values.data,
    app: values.app,
    watch: !values["no-watch"],
  };
}

function parseStrictly(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        port: { type: "string", default: "4500" },
        data: { type: "string", default: ".minutehand" },
        reset: { type: "boolean", default: false },
        app: { type: "string" },
        "no-watch": { type: "boolean", default: false },
        help: { type: "boolean", short: "h", default: false },
      },
    });
  } catch (error) {
    // parseArgs adds advice after the first sentence, some of it for positional arguments only.
    const [reason] = messageOf(error).split(/\. |\n/);
    throw new LocalError(`${reason}; allowed are --app, --no-watch, --port, --data, --reset and --help`);
  }
}

function parsePort(text: string): number {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535)
    throw new LocalError(`--port must be a number from 0 to 65535, not "${text}"`);
  return port;
}
