import { tmpdir } from "node:os";
import { Readable } from "node:stream";
import { run } from "../../cli/run.ts";
import { START } from "../support/world.ts";
import type { ServedApi } from "./served-api.ts";

export type Typed = {
  /** What stdin gives. */
  input?: string;
  /** Whether all three streams are a terminal's, of 80 columns. */
  terminal?: true;
  /** Else it has nothing but the API's URL. */
  env?: Record<string, string | undefined>;
  /** Called by each wait. */
  wait?: (ms: number, interrupt: () => void) => Promise<void> | void;
  /** When somebody presses Ctrl-C. */
  interrupted?: Promise<void>;
  nodeVersion?: string;
  /** The working directory; else the temporary folder. */
  folder?: string;
  /** Else it is the API's. */
  clock?: () => number;
};

export type Ended = { code: number; out: string; err: string; lines: unknown[] };

/** Nothing is to be asked there. */
const NOWHERE = "http://127.0.0.1:1";

/** Runs a command line in this process, on the clock of the API that it is for. */
export async function type(
  api: ServedApi | undefined,
  args: readonly string[],
  typed: Typed = {},
): Promise<Ended> {
  const { input = "", terminal = false, wait, nodeVersion = "v24.21.0" } = typed;
  const interruption = Promise.withResolvers<void>();
  void typed.interrupted?.then(interruption.resolve);
  const written = { out: "", err: "" };
  const sink = (name: "out" | "err") => ({
    write: (text: string, done?: () => void) => {
      written[name] += text;
      done?.();
    },
    isTTY: terminal,
    columns: 80,
  });
  const code = await run(args, {
    env: typed.env ?? { MINUTEHAND_URL: api?.url ?? NOWHERE },
    folder: typed.folder ?? tmpdir(),
    stdin: Object.assign(Readable.from(input === "" ? [] : [Buffer.from(input)]), { isTTY: terminal }),
    stdout: sink("out"),
    stderr: sink("err"),
    clock: typed.clock ?? api?.world.now ?? (() => START),
    wait: async (ms) => wait?.(ms, interruption.resolve),
    interrupted: () => interruption.promise,
    endUnread: () => {},
    nodeVersion,
  });
  return {
    code,
    ...written,
    /** What `--json` wrote. */
    get lines() {
      return written.out
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line));
    },
  };
}
