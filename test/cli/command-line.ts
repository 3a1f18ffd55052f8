import { tmpdir } from "node:os";
import { Readable } from "node:stream";
import { setImmediate } from "node:timers/promises";
import { run } from "../../src/cli/run.ts";
import { START } from "../support/world.ts";
import type { ServedApi } from "./served-api.ts";

export type Typed = {
  input?: string;
  /** Whether stdin, stdout and stderr are a terminal of 80 columns. */
  terminal?: true;
  /** @default only the API's URL */
  env?: Record<string, string | undefined>;
  /** Called instead of each wait of the command. */
  wait?: (ms: number, interrupt: () => void) => Promise<void> | void;
  interrupted?: Promise<void>;
  nodeVersion?: string;
  isInstalled?: () => boolean;
  /** The working directory. @default the temporary folder */
  folder?: string;
  /** @default the clock of the API */
  clock?: () => number;
};

export type Ended = { code: number; out: string; err: string; lines: unknown[] };

/** The URL for commands that must not call an API: nothing listens there. */
const NOWHERE = "http://127.0.0.1:1";

/** Runs a command line in this process. It calls `api`, and has the API's clock. */
export async function type(
  api: ServedApi | undefined,
  args: readonly string[],
  typed: Typed = {},
): Promise<Ended> {
  const { input = "", terminal = false, wait, nodeVersion = "v24.21.0" } = typed;
  const interruption = Promise.withResolvers<void>();
  void typed.interrupted?.then(interruption.resolve);
  const written = { out: "", err: "" };
  const code = await run(args, {
    env: typed.env ?? { MINUTEHAND_URL: api?.url ?? NOWHERE },
    folder: typed.folder ?? tmpdir(),
    stdin: Object.assign(Readable.from(typedLines(input)), { isTTY: terminal }),
    stdout: sinkOf(written, "out", terminal),
    stderr: sinkOf(written, "err", terminal),
    clock: typed.clock ?? api?.world.now ?? (() => START),
    wait: async (ms) => wait?.(ms, interruption.resolve),
    interrupted: () => interruption.promise,
    endUnread: () => {},
    nodeVersion,
    ...(typed.isInstalled && { isInstalled: typed.isInstalled }),
  });
  return {
    code,
    ...written,
    get lines() {
      return written.out
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line));
    },
  };
}

/** The lines of the input, each after the program has had the time to read the one before, as a person types them. */
async function* typedLines(input: string): AsyncGenerator<Buffer> {
  for (const line of input.match(/[^\n]*\n|[^\n]+$/g) ?? []) {
    yield Buffer.from(line);
    await setImmediate();
  }
}

function sinkOf(written: { out: string; err: string }, name: "out" | "err", terminal: boolean) {
  return {
    write: (text: string, done?: () => void) => {
      written[name] += text;
      done?.();
    },
    isTTY: terminal,
    columns: 80,
  };
}
