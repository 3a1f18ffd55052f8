import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { createWriteStream, mkdirSync, type WriteStream, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { FaultyProxy } from "./proxy.ts";
import type { FireRules, StackUp } from "./stack-process.ts";

const PROGRAM = fileURLToPath(new URL("stack-process.ts", import.meta.url));
const CDK_APP = fileURLToPath(new URL("app/cdk-app.ts", import.meta.url));

/** The proxies by which callers and functions reach the parts of the stack. Their addresses outlive the stack's processes. */
export type Proxies = {
  readonly api: FaultyProxy;
  readonly dynamodb: FaultyProxy;
  readonly sqs: FaultyProxy;
};

export type HurtStack = {
  /** The id of the runner, whose descendants are the other processes. `undefined` while it is down. */
  readonly pid: () => number | undefined;
  readonly tick: () => void;
  /** Sends SIGKILL to the runner, and starts it again after `afterMs`. Resolves when the stack is up. */
  readonly killAndRestart: (afterMs: number) => Promise<void>;
  readonly stop: () => Promise<void>;
};

/** The stack's process, and what a new process needs. `expected`: the end of the process is no accident. */
type State = {
  readonly args: readonly string[];
  readonly output: WriteStream;
  readonly proxies: Proxies;
  readonly onDeath: (how: string) => void;
  child: ChildProcess | undefined;
  expected: boolean;
};

/** All data is in `folder`. Functions and callers use the proxies. `onDeath`: called if the stack ends unexpectedly. */
export async function startStack(
  folder: string,
  ledger: string,
  proxies: Proxies,
  onDeath: (how: string) => void,
): Promise<HurtStack> {
  const root = join(folder, "project");
  mkdirSync(root);
  writeFileSync(join(root, "cdk.json"), JSON.stringify({ app: `"${process.execPath}" "${CDK_APP}"` }));
  const output = createWriteStream(join(folder, "stack.log"), { flags: "a" });
  const args = [root, join(folder, "data"), ledger, proxies.dynamodb.url, proxies.sqs.url];
  const state: State = { args, output, proxies, onDeath, child: undefined, expected: false };
  await startProcess(state);
  return {
    pid: () => state.child?.pid,
    tick: () => state.child?.send("tick" satisfies FireRules, () => {}),
    killAndRestart: async (afterMs) => {
      await endProcess(state, "SIGKILL");
      await new Promise((resolve) => setTimeout(resolve, afterMs));
      await startProcess(state);
    },
    stop: async () => {
      await endProcess(state, "SIGTERM");
      output.end();
    },
  };
}

async function startProcess(state: State): Promise<void> {
  const { args, output, proxies } = state;
  state.expected = false;
  // With these variables the stack would not start emulators of its own.
  const { AWS_ENDPOINT_URL_DYNAMODB: _dynamodb, AWS_ENDPOINT_URL_SQS: _sqs, ...env } = process.env;
  const started = fork(PROGRAM, args, { env, stdio: ["ignore", "pipe", "pipe", "ipc"], execArgv: [] });
  for (const stream of [started.stdout, started.stderr]) stream?.pipe(output, { end: false });
  const ended = once(started, "exit").then(([code, signal]) => `with ${signal ?? `code ${code}`}`);
  const up = once(started, "message").then(([message]) => message as StackUp);
  const outcome = await Promise.race([up, ended]);
  if (typeof outcome === "string")
    throw new Error(`the stack ended ${outcome} before it was up: ${output.path}`);
  proxies.api.setTarget(outcome.url);
  proxies.dynamodb.setTarget(outcome.dynamodb);
  proxies.sqs.setTarget(outcome.sqs);
  state.child = started;
  void ended.then((how) => {
    state.child = undefined;
    if (!state.expected) state.onDeath(how);
  });
}

async function endProcess(state: State, signal: NodeJS.Signals): Promise<void> {
  if (!state.child) return;
  state.expected = true;
  const exited = once(state.child, "exit");
  state.child.kill(signal);
  await exited;
}
