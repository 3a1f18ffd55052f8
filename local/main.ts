import { LocalError, messageOf } from "./local-error.ts";
import { HELP, parseCommandLine } from "./options.ts";
import { type LocalStack, startLocal } from "./stack.ts";

const USAGE_ERROR = 2;

const options = readOptions();
if (options.help) console.log(HELP);
else await run(options);

function readOptions() {
  try {
    return parseCommandLine(process.argv.slice(2));
  } catch (error) {
    fail(error, USAGE_ERROR);
  }
}

async function run({ port, dataDir, reset }: ReturnType<typeof readOptions>): Promise<void> {
  const began = Date.now();
  let stack: Promise<LocalStack> | undefined;
  // npm and the terminal may both send the signal, so it comes twice; the stop itself is bounded.
  const stop = async () => {
    const started = await stack?.catch(() => undefined);
    await started?.stop().catch((error) => fail(error, 1));
    process.exit(0);
  };
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, stop);
  // Whoever read the lines has gone, as in `npm run local | head`.
  process.stdout.on("error", stop);
  try {
    stack = startLocal({
      port,
      dataDir,
      reset,
      log: (line) => console.log(line),
      progress: (line) => console.error(line),
      onLost: (error) => fail(error, 1),
    });
    greet(await stack, Date.now() - began);
  } catch (error) {
    fail(error, 1);
  }
}

function greet({ url }: LocalStack, tookMs: number): void {
  console.log(`Minutehand is up at ${url} after ${(tookMs / 1000).toFixed(1)} s. Ctrl-C ends it. Try:

  curl ${url}/jobs -H 'content-type: application/json' \\
    -d '{"topic":"reminders","delay":5,"body":{"text":"hello"}}'
`);
}

function fail(error: unknown, code: number): never {
  const known = error instanceof LocalError;
  console.error(
    `minutehand: ${known || !(error instanceof Error) ? messageOf(error) : (error.stack ?? error.message)}`,
  );
  process.exit(code);
}
