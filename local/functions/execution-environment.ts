import { type ChildProcess, fork } from "node:child_process";
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { errorText } from "../local-error.ts";
import type { FunctionError, RunnerMessage, RuntimeMessage } from "../processes/function-process.ts";
import type { Guard } from "../processes/guard.ts";
import { DETACHED, machineVariables } from "../processes/processes.ts";
import { programPath } from "../processes/program-path.ts";
import type { MovingClock } from "../services/clock.ts";
import type { FunctionSpec } from "../template/resources.ts";
import { eachLine } from "./each-line.ts";
import { readStamp } from "./stamped-output.ts";

/** Lambda's limit for the initialisation of a function. */
const INIT_LIMIT_MS = 10_000;
/** How long the last message of a process may come after its end. */
const LAST_MESSAGE_MS = 1_000;
/** How long a move of the clock waits for a process. One that is busy for longer learns of it a moment later. */
const FOLLOW_LIMIT_MS = 1_000;

/** Unbuffered, so that the log shows a line when it is printed, and without compiled files in the folder of the code. */
const PYTHON = {
  program: join(import.meta.dirname, "../processes/function-process.py"),
  execPath: "python3",
  execArgv: ["-u", "-B"],
};

/** How an invocation ended. After `crashed` and `timed-out` the process has ended too. */
export type Outcome =
  | { readonly outcome: "returned"; readonly payload: string }
  | { readonly outcome: "threw" | "crashed" | "timed-out" | "too-large"; readonly error: FunctionError };

/** A process that runs one invocation at a time. */
export type ExecutionEnvironment = {
  readonly pid: number;
  /** `event` is JSON. `caller` is aborted when it has hung up. Call again only after the answer. Ends the process at the function's timeout. */
  readonly invoke: (event: string, caller?: AbortSignal) => Promise<Outcome>;
  /** Tells a running invocation that the clock was moved. An idle process learns it with its next invocation. */
  readonly followClock: () => Promise<void>;
  readonly isAlive: () => boolean;
  readonly kill: () => void;
  readonly exited: Promise<void>;
};

/** Settings that are the same for every environment of a stack. */
export type EnvironmentHost = {
  readonly guard: Guard;
  /** Endpoints, region, credentials: environment variables beside those of the template. */
  readonly variables: Readonly<Record<string, string>>;
  readonly clock: Pick<MovingClock, "now" | "ahead">;
  /**
   * Called with each line that a function writes, with the folder of its code, with the time of the line, ms since the epoch, and with the id
   * of the process that wrote it.
   */
  readonly onLine: (
    logicalId: string,
    line: string,
    codeDir: string,
    writtenAt: number,
    pid?: number,
  ) => void;
};

type Process = {
  readonly spec: FunctionSpec;
  readonly clock: EnvironmentHost["clock"];
  readonly child: ChildProcess;
  readonly gone: Promise<string>;
  running: { readonly requestId: string; readonly settle: (outcome: Outcome) => void } | undefined;
};

/** Starts a process and loads the handler. Rejects if the start fails or takes longer than 10 s, as on Lambda. */
export async function startExecutionEnvironment(
  spec: FunctionSpec,
  host: EnvironmentHost,
): Promise<ExecutionEnvironment> {
  const child = forkFunction(spec, host);
  const gone = new Promise<string>((resolve) => {
    child.once("error", (error) => resolve(errorText(error)));
    child.once("exit", (code, signal) => {
      const how = signal ? `by ${signal}` : `with code ${code}`;
      if (!child.connected) return resolve(how);
      // The last message of the process may come after its end. A process that it has started can keep the channel open.
      child.once("disconnect", () => resolve(how));
      setTimeout(resolve, LAST_MESSAGE_MS, how).unref();
    });
  });
  const started: Process = { spec, clock: host.clock, child, gone, running: undefined };
  settleInvocations(started, host);
  await waitUntilLoaded(child, gone);
  return {
    pid: child.pid ?? 0,
    invoke: (event, caller) => invoke(started, event, caller),
    followClock: () => followClock(started),
    isAlive: () => child.connected && child.exitCode === null && child.signalCode === null,
    kill: () => child.kill("SIGKILL"),
    exited: gone.then(() => {}),
  };
}

function forkFunction(spec: FunctionSpec, host: EnvironmentHost): ChildProcess {
  const { program, ...runtime } = spec.isPython ? PYTHON : { program: programPath("function"), execArgv: [] };
  const child = fork(program, [spec.codeDir, spec.handler, spec.arn, String(host.clock.ahead())], {
    cwd: spec.codeDir,
    ...runtime,
    // Detached, so that Ctrl-C reaches only the runner, which then ends its functions.
    ...DETACHED,
    env: variablesOf(spec, host),
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
  host.guard.watch(child);
  for (const stream of [child.stdout, child.stderr])
    if (stream)
      eachLine(stream, (stamped) => {
        const { line, writtenAt } = readStamp(stamped, host.clock.now());
        host.onLine(spec.logicalId, line, spec.codeDir, writtenAt, child.pid);
      });
  return child;
}

function settleInvocations(started: Process, host: EnvironmentHost): void {
  let uncaught: FunctionError | undefined;
  started.child.on("message", (message: RuntimeMessage) => {
    const { running } = started;
    if (message.type === "uncaught") uncaught = message.error;
    if (!("requestId" in message) || message.requestId !== running?.requestId) return;
    if (message.type === "returned") running.settle({ outcome: "returned", payload: message.payload });
    else running.settle({ outcome: "threw", error: message.error });
  });
  void started.gone.then((how) => {
    const { running, spec } = started;
    const why = uncaught
      ? `an error that nothing caught ended the process: ${uncaught.errorMessage}`
      : undefined;
    if (running) {
      const errorMessage = why ?? `${running.requestId} its process ended ${how}`;
      running.settle({
        outcome: "crashed",
        error: { ...uncaught, errorType: "Runtime.ExitError", errorMessage },
      });
    } else if (why !== undefined) {
      const record = { level: "ERROR", message: why, thrown: uncaught?.thrown };
      host.onLine(spec.logicalId, JSON.stringify(record), spec.codeDir, host.clock.now());
    }
  });
}

async function invoke(started: Process, event: string, caller?: AbortSignal): Promise<Outcome> {
  const { child, spec, clock } = started;
  const requestId = randomUUID();
  const { promise, resolve: settle } = Promise.withResolvers<Outcome>();
  started.running = { requestId, settle };
  const timer = setTimeout(() => {
    child.kill("SIGKILL");
    const errorMessage = `${requestId} timed out after ${spec.timeoutMs / 1000} seconds`;
    settle({ outcome: "timed-out", error: { errorType: "Sandbox.Timedout", errorMessage } });
  }, spec.timeoutMs);
  const deadline = Date.now() + spec.timeoutMs;
  const message: RunnerMessage = { requestId, event, deadline, ahead: clock.ahead() };
  child.send(message, (error) => {
    const errorMessage = `${requestId} could not be handed to its process: ${errorText(error)}`;
    if (error) settle({ outcome: "crashed", error: { errorType: "Runtime.ExitError", errorMessage } });
  });
  // A process that has ended cannot be told any more.
  const tellGone = () => child.connected && child.send({ requestId, isCallerGone: true }, () => {});
  if (caller?.aborted) tellGone();
  caller?.addEventListener("abort", tellGone);
  const outcome = await promise;
  caller?.removeEventListener("abort", tellGone);
  clearTimeout(timer);
  started.running = undefined;
  return outcome;
}

/** A function in Python keeps the machine's clock. */
async function followClock({ child, spec, clock, running, gone }: Process): Promise<void> {
  if (running === undefined || spec.isPython || !child.connected) return;
  const { promise: followed, resolve } = Promise.withResolvers<void>();
  const onMessage = ({ type }: RuntimeMessage) => type === "clock-moved" && resolve();
  child.on("message", onMessage);
  child.send({ ahead: clock.ahead() } satisfies RunnerMessage, () => {});
  await Promise.race([followed, gone, sleep(FOLLOW_LIMIT_MS, undefined, { ref: false })]);
  child.off("message", onMessage);
}

async function waitUntilLoaded(child: ChildProcess, gone: Promise<string>): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  child.once("message", (message: RuntimeMessage) => {
    if (message.type === "unloadable")
      reject(new Error(message.error.errorMessage, { cause: message.error.thrown }));
    else resolve();
  });
  void gone.then((how) =>
    reject(new Error(`the function's process ended ${how} before it loaded the handler`)),
  );
  const timer = setTimeout(
    () => reject(new Error(`the function did not load its handler within ${INIT_LIMIT_MS / 1000} s`)),
    INIT_LIMIT_MS,
  );
  try {
    await promise;
  } catch (error) {
    child.kill("SIGKILL");
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

/** Lambda's own variables: https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html */
function variablesOf(spec: FunctionSpec, { variables }: EnvironmentHost): NodeJS.ProcessEnv {
  return {
    ...machineVariables(process.env),
    TZ: "UTC",
    LANG: "en_US.UTF-8",
    AWS_EXECUTION_ENV: spec.isPython ? "AWS_Lambda_python" : "AWS_Lambda_nodejs24.x",
    AWS_LAMBDA_FUNCTION_MEMORY_SIZE: String(spec.memoryMb),
    AWS_LAMBDA_FUNCTION_NAME: spec.name,
    AWS_LAMBDA_FUNCTION_VERSION: "$LATEST",
    AWS_LAMBDA_INITIALIZATION_TYPE: "on-demand",
    AWS_LAMBDA_LOG_GROUP_NAME: `/aws/lambda/${spec.name}`,
    AWS_LAMBDA_LOG_STREAM_NAME: "local",
    LAMBDA_TASK_ROOT: spec.codeDir,
    ...spec.environment,
    ...variables,
  };
}
