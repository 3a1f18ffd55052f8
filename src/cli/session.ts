import { createInterface } from "node:readline/promises";
import { type Call, callOver } from "../client/call.ts";
import type { Client } from "../client/client.ts";
import { type ClientOptions, createClient, transportFor } from "../client/http-client.ts";
import { isLoopback } from "../settings/loopback.ts";
import { UsageError } from "./cli-error.ts";
import { createOutput, type Output } from "./output.ts";
import { findOwnStack, type OwnStack, servesAt } from "./own-stack.ts";
import { createProgress, type Progress } from "./progress.ts";
import { aheadAt } from "./stack-clock.ts";
import type { Surroundings } from "./surroundings.ts";
import { findTarget, LOCAL_PATIENCE, noteOf, type Target } from "./target.ts";

export type GlobalOptions = {
  readonly url?: string;
  readonly stack?: string;
  readonly region?: string;
  readonly profile?: string;
  readonly token?: string;
  readonly json?: true;
  readonly color: boolean;
  readonly debug?: true;
};

/** How long one try may take, ms, and how often a call is retried. */
type Patience = Pick<ClientOptions, "timeout" | "retries">;

/** Fewer retries than the client's default, because a person waits. */
const USUAL: Patience = { retries: 3 };

/** The objects that a command uses. The target and the client are looked up only when the command asks for them. */
export type Session = {
  readonly options: GlobalOptions;
  readonly surroundings: Surroundings;
  readonly output: Output;
  readonly progress: Progress;
  target(): Promise<Target>;
  /** The local stack of the target, if it runs in this folder or above. */
  ownStack(): Promise<OwnStack | undefined>;
  /** How far the target's clock is ahead of the machine's, ms. Only the clock of the folder's local stack can be. */
  ahead(): Promise<number>;
  /** The target's clock, ms since the epoch. A move of a local stack's clock after the first call does not count. */
  clock(): Promise<() => number>;
  /** What named the target, if the command line did not. `undefined` also before the target is found. */
  named(): string | undefined;
  /** Creates the client of the target. `patience`: other timeouts and retries than usual. */
  client(patience?: Patience): Promise<Client>;
  /** Creates what calls any path of the target, as its client would. */
  call(): Promise<Call>;
  /** Whether a person can answer a question: stdin and stderr are terminals. */
  readonly isAttended: boolean;
  /** Asks for a line of text; answers `""` at the end of the input. */
  ask(question: string): Promise<string>;
  confirm(question: string): Promise<boolean>;
  /** Lets Ctrl-C do `work` before the program ends. */
  atInterrupt(work: () => Promise<void>): void;
  /** Does the work of `atInterrupt`, if there is any. */
  undo(): Promise<void>;
};

export type Open = () => Session;

/** Writes the region and the profile into the environment variables that the AWS SDK reads. */
export function nameToAws(options: GlobalOptions, env: Surroundings["env"]): void {
  const region = options.region ?? (env.AWS_REGION || env.AWS_DEFAULT_REGION);
  if (region) env.AWS_REGION = region;
  if (options.profile !== undefined) env.AWS_PROFILE = options.profile;
}

export function createSession(options: GlobalOptions, surroundings: Surroundings): Session {
  const { env, stdin, stderr } = surroundings;
  nameToAws(options, env);
  const output = createOutput(surroundings, { json: options.json === true, color: options.color });
  const { target, ...lookups } = lookUpWith(options, surroundings, output);
  let undo: (() => Promise<void>) | undefined;
  const ask = (question: string) => askOn(surroundings, question);
  return {
    options,
    surroundings,
    output,
    progress: createProgress(surroundings),
    target: () => target(),
    ...lookups,
    async client(patience = USUAL) {
      const access = accessOf(await target(patience.timeout));
      return withHint(() => createClient({ ...access, ...patience }));
    },
    async call() {
      const access = accessOf(await target());
      return withHint(() => callOver(transportFor({ ...access, ...USUAL }), access.url));
    },
    isAttended: stdin.isTTY === true && stderr.isTTY === true,
    ask,
    atInterrupt(work) {
      undo = work;
    },
    undo: async () => undo?.(),
    confirm: async (question) => /^y(es)?$/i.test(await ask(`${question} [y/N]`)),
  };
}

/** Finds the target once, at its first use, and says then which one it is. `timeout`: how long a local API may take to answer, ms. */
function lookUpWith(options: GlobalOptions, surroundings: Surroundings, output: Output) {
  const { env, folder, stderr, clock } = surroundings;
  let found: Promise<Target> | undefined;
  let named: string | undefined;
  let ahead: Promise<number> | undefined;
  const find = async (timeout?: number) => {
    const target = await findTarget(options, surroundings, timeout);
    named = target.by;
    const note = noteOf(target, env, stderr.isTTY === true && !output.json);
    if (note !== undefined) output.note(note);
    return target;
  };
  const target = (timeout?: number) => {
    found ??= find(timeout);
    return found;
  };
  const ownStack = async () => ownStackOf(await target(), folder);
  const findAhead = async () => {
    const own = await ownStack();
    return own === undefined ? 0 : aheadAt(own.record.url);
  };
  const readAhead = () => {
    ahead ??= findAhead();
    return ahead;
  };
  return {
    target,
    ownStack,
    ahead: readAhead,
    async clock() {
      const ms = await readAhead();
      return () => clock() + ms;
    },
    named: () => named,
  };
}

async function ownStackOf({ own, url }: Target, folder: string): Promise<OwnStack | undefined> {
  if (own || !isLoopback(new URL(url).hostname)) return own;
  const stack = await findOwnStack(folder, LOCAL_PATIENCE);
  return stack && servesAt(stack.record, url) ? stack : undefined;
}

function accessOf({ url, auth, region }: Target) {
  return { url, auth, ...(region === undefined ? {} : { region }) };
}

async function askOn({ stdin, stderr }: Surroundings, question: string): Promise<string> {
  stderr.write(`${question} `);
  if (stdin.readableEnded) return "";
  // In readline's terminal mode, Ctrl-C would not send a signal to the process.
  const lines = createInterface({ input: stdin, terminal: false });
  try {
    for await (const line of lines) return line.trim();
    return "";
  } finally {
    // The iterator leaves stdin open. Without this call the process would not end.
    lines.close();
  }
}

/** Calls `make`. If a region or a token is missing or wrong, throws a `UsageError` that names the options. */
export function withHint<T>(make: () => T): T {
  try {
    return make();
  } catch (error) {
    if (error instanceof RangeError) throw new UsageError(`${error.message}; see --region and --token`);
    throw error;
  }
}
