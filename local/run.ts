import { relative } from "node:path";
import { type EmbeddedStack, type EmbeddedStackOptions, startEmbeddedStack } from "./embedded-stack.ts";
import { exampleJob } from "./example-body.ts";
import type { Endpoints } from "./functions/platform.ts";
import { errorText, LocalError } from "./local-error.ts";
import { recordFile } from "./runner-record.ts";
import { topicsOfFunction } from "./template/delay-queue.ts";

type RunOptions = Pick<
  EmbeddedStackOptions,
  "port" | "dataDir" | "reset" | "database" | "app" | "stack" | "watch" | "typeCheck" | "console"
> & {
  debug: boolean;
  /** The URL of the API that programs call if MINUTEHAND_URL is not set. */
  defaultUrl: string;
  /** Called before the stack stops. Answers the last lines for the user. */
  beforeStop?: (stack: EmbeddedStack) => Promise<string[]>;
};

/** A failure that the user can fix prints one line, or with `debug` its stack trace, as other errors do. Both exit with 1. */
export async function runLocal({ debug, defaultUrl, beforeStop, ...options }: RunOptions): Promise<void> {
  const fail = (error: unknown): never => {
    console.error(`minutehand: ${failureText(error, debug)}`);
    process.exit(1);
  };
  const began = Date.now();
  const stopping = new AbortController();
  const { signal } = stopping;
  let stack: Promise<EmbeddedStack> | undefined;
  // npm and the terminal may both send the signal. The second need not force the end: stopping takes bounded time.
  const stop = async () => {
    if (signal.aborted) return;
    stopping.abort();
    const started = await stack?.catch(() => undefined);
    for (const line of (started && (await beforeStop?.(started))) ?? []) console.error(line);
    await started?.stop().catch((error) => fail(error));
    process.exit(0);
  };
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(name, stop);
  // An error means that nobody reads the output any more, as in `npm run local | head`.
  process.stdout.on("error", stop);
  try {
    stack = startEmbeddedStack({
      ...options,
      oneShard: true,
      log: (line) => console.log(line),
      progress: (line) => console.error(line),
      signal,
      onLost: (error) => fail(error),
    });
    const up = await stack;
    if (!signal.aborted) {
      console.log(greeting(up, Date.now() - began, options.console?.path));
      console.log(forPrograms(up, defaultUrl) + addressLine(up.endpoints, recordFile(options.dataDir)));
    }
  } catch (error) {
    // A user who pressed Ctrl-C needs no error.
    if (!signal.aborted) fail(error);
  }
}

/** Tells the URL to programs that would call another one. */
function forPrograms({ hasApi, url }: EmbeddedStack, defaultUrl: string): string {
  return hasApi && url !== defaultUrl ? `for your programs: export MINUTEHAND_URL=${url}\n` : "";
}

function greeting({ url, hasApi, functions }: EmbeddedStack, tookMs: number, consolePath?: string): string {
  const began = `Minutehand is up at ${url} after ${(tookMs / 1000).toFixed(1)} s. Ctrl-C ends it.`;
  if (!hasApi) return `${began} The app has no HTTP API, so each call of the API answers 404.`;
  const up = consolePath === undefined ? began : `${began} See its jobs at ${url}${consolePath}`;
  const topics = functions.flatMap((spec) => Object.entries(topicsOfFunction(spec)));
  const job = exampleJob(process.cwd(), Object.fromEntries(topics));
  if (job === undefined) return up;
  return `${up} or try:

  curl ${url}/jobs -H 'content-type: application/json' \\
    -d '${JSON.stringify(job)}'
`;
}

const SERVICES: Readonly<Record<keyof Endpoints, string>> = {
  dynamodb: "DynamoDB",
  sqs: "SQS",
  eventBridge: "EventBridge",
  scheduler: "Scheduler",
  secretsManager: "Secrets Manager",
  lambda: "Lambda",
};

/** Says where the services answer, for `aws --endpoint-url` or an SDK. The output may be kept where others can read it, so it has no address with the run's key. */
function addressLine(endpoints: Endpoints, record: string): string {
  const names = Object.keys(SERVICES) as (keyof Endpoints)[];
  // Lambda is always the runner's own.
  const isKeyed = (name: keyof Endpoints) => endpoints[name] === endpoints.lambda;
  const open = names.filter((name) => !isKeyed(name)).map((name) => `${SERVICES[name]} ${endpoints[name]}`);
  const keyed = names.filter(isKeyed).map((name) => SERVICES[name]);
  return `AWS services: ${open.join(", ")}; ${keyed.join(", ")}: see "endpoints" in ${relative("", record)}, whose addresses have the key of this run`;
}

/** The text of an error: its message, with the stack trace if it is unexpected or `debug` is set. */
function failureText(error: unknown, debug: boolean): string {
  if (!(error instanceof Error) || (error instanceof LocalError && !debug)) return errorText(error);
  return error.stack ?? error.message;
}
