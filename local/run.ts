import { topicsOf } from "./delay-queue.ts";
import { LocalError, messageOf } from "./local-error.ts";
import { HELP, parseCommandLine } from "./options.ts";
import type { LocalStack } from "./stack.ts";

const USAGE_ERROR = 2;
/** The functions' bundles are made for it, and node:sqlite keeps what is kept. */
const NODE_MAJOR = 24;

/**
 * `minutehand local`, from the arguments behind these words on: runs the stack until a signal ends it, and then the
 * process. What goes wrong is a line on stderr, with exit code 2 for wrong arguments and 1 else.
 */
export async function runLocal(args: readonly string[]): Promise<void> {
  const options = readOptions(args);
  if (options.help) {
    console.log(HELP);
    return;
  }
  const nodeError = nodeErrorOf(process.versions.node);
  if (nodeError !== undefined) fail(new LocalError(nodeError), 1);
  await run(options);
}

/** What is wrong with this version of Node; `undefined`: nothing. */
export function nodeErrorOf(version: string): string | undefined {
  if (Number(version.split(".")[0]) >= NODE_MAJOR) return undefined;
  return `the local stack needs Node ${NODE_MAJOR} or later, this is Node ${version}`;
}

function readOptions(args: readonly string[]) {
  try {
    return parseCommandLine(args);
  } catch (error) {
    fail(error, USAGE_ERROR);
  }
}

async function run({ port, dataDir, reset, app, watch }: ReturnType<typeof readOptions>): Promise<void> {
  const began = Date.now();
  const stopping = new AbortController();
  const { signal } = stopping;
  let stack: Promise<LocalStack> | undefined;
  // npm and the terminal may both send the signal, so it comes twice; the stop itself is bounded.
  const stop = async () => {
    stopping.abort();
    const started = await stack?.catch(() => undefined);
    await started?.stop().catch((error) => fail(error, 1));
    process.exit(0);
  };
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(name, stop);
  // Whoever read the lines has gone, as in `npm run local | head`.
  process.stdout.on("error", stop);
  try {
    // Not at the top: what it imports is not there in a Node that is too old, which is to be said in other words.
    const { startLocal } = await import("./stack.ts");
    stack = startLocal({
      port,
      dataDir,
      reset,
      app,
      watch,
      log: (line) => console.log(line),
      progress: (line) => console.error(line),
      signal,
      onLost: (error) => fail(error, 1),
    });
    const up = await stack;
    if (!signal.aborted) console.log(greeting(up, Date.now() - began));
  } catch (error) {
    // Whoever ends a start knows why it failed.
    if (!signal.aborted) fail(error, 1);
  }
}

function greeting({ url, hasApi, functions }: LocalStack, tookMs: number): string {
  const up = `Minutehand is up at ${url} after ${(tookMs / 1000).toFixed(1)} s. Ctrl-C ends it.`;
  if (!hasApi) return `${up} The app has no HTTP API, so nothing is answered there.`;
  const topics = functions.flatMap((spec) => Object.entries(topicsOf(spec)));
  // One whose jobs need no address to be sent to.
  const [topic] = topics.find(([, { webhook }]) => webhook === undefined) ?? [];
  if (topic === undefined) return up;
  return `${up} Try:

  curl ${url}/jobs -H 'content-type: application/json' \\
    -d '{"topic":"${topic}","delay":5,"body":{"text":"hello"}}'
`;
}

function fail(error: unknown, code: number): never {
  const known = error instanceof LocalError;
  console.error(
    `minutehand: ${known || !(error instanceof Error) ? messageOf(error) : (error.stack ?? error.message)}`,
  );
  process.exit(code);
}
