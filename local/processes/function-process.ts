/** `function-process <code folder> <index.handler> <ARN> <ms ahead>`. Runs one invocation after the other. Ends when its parent ends. */
import { pathToFileURL } from "node:url";
import { CALLER_GONE } from "../../src/general/caller-gone.ts";
import { codeFile, EXTENSIONS } from "../functions/code-file.ts";
import { nextTraceHeader } from "../functions/recursive-loop.ts";
import { stampOutput } from "../functions/stamped-output.ts";
import { machineNow, setAhead, shiftDate } from "./shifted-date.ts";

export type RunnerMessage =
  /** `deadline`: by the machine's clock. `ahead`: how many ms the stack's clock is ahead of it. */
  | { readonly requestId: string; readonly event: string; readonly deadline: number; readonly ahead: number }
  /** The clock was moved while an invocation runs. */
  | { readonly ahead: number }
  /** The caller of the invocation has hung up. */
  | { readonly requestId: string; readonly isCallerGone: true };
export type FunctionError = {
  readonly errorType: string;
  readonly errorMessage: string;
  /** What was thrown, as a logger writes an error. Absent if no error was thrown. */
  readonly thrown?: ThrownError;
};
export type ThrownError = { readonly message: string; readonly stack: string; readonly cause?: ThrownError };
export type RuntimeMessage =
  | { readonly type: "ready" | "clock-moved" }
  /** `uncaught`: an error that nothing caught ends the process. */
  | { readonly type: "unloadable" | "uncaught"; readonly error: FunctionError }
  | { readonly type: "returned"; readonly requestId: string; readonly payload: string }
  | { readonly type: "threw"; readonly requestId: string; readonly error: FunctionError };

type Handler = (event: unknown, context: object) => unknown;

/** How many causes of an error are told. An error can be its own cause. */
const DEEPEST_CAUSE = 8;

process.on("disconnect", () => process.exit());
const [codeDir = "", handlerName = "", invokedFunctionArn, aheadAtFirst = "0"] = process.argv.slice(2);
setAhead(Number(aheadAtFirst));
shiftDate();
stampOutput();
// As on Lambda, an error that nothing catches ends the process. Node itself would print the line that threw, and in a bundle that line can
// be the whole program.
process.on("uncaughtException", (error) =>
  process.send?.({ type: "uncaught", error: toFunctionError(error) } satisfies RuntimeMessage, () =>
    process.exit(1),
  ),
);

try {
  const handler = await loadHandler(codeDir, handlerName);
  const running = new Map<string, AbortController>();
  process.on("message", (message: RunnerMessage) => {
    if ("ahead" in message) setAhead(message.ahead);
    if ("event" in message) void runHandler(handler, message, running);
    else if ("ahead" in message) tellRunner({ type: "clock-moved" });
    else running.get(message.requestId)?.abort();
  });
  tellRunner({ type: "ready" });
} catch (error) {
  tellRunner({ type: "unloadable", error: toFunctionError(error) });
}

async function loadHandler(dir: string, name: string): Promise<Handler> {
  const dot = name.lastIndexOf(".");
  const [path, property] = [name.slice(0, dot), name.slice(dot + 1)];
  const file = codeFile(dir, name);
  if (file === undefined) throw new Error(`there is no ${path}{${EXTENSIONS.join(",")}} in ${dir}`);
  const module: Record<string, unknown> = await import(pathToFileURL(file).href);
  const handler = module[property];
  if (typeof handler !== "function") throw new Error(`${file} exports no function "${property}"`);
  return (event, context) => handler(event, context);
}

async function runHandler(
  handler: Handler,
  { requestId, event, deadline }: Extract<RunnerMessage, { event: string }>,
  running: Map<string, AbortController>,
): Promise<void> {
  const caller = new AbortController();
  running.set(requestId, caller);
  try {
    const parsed = JSON.parse(event);
    process.env._X_AMZN_TRACE_ID = nextTraceHeader(parsed);
    const result = await handler(parsed, contextOf(requestId, deadline, caller.signal));
    tellRunner({ type: "returned", requestId, payload: JSON.stringify(result) ?? "null" });
  } catch (error) {
    tellRunner({ type: "threw", requestId, error: toFunctionError(error) });
  } finally {
    running.delete(requestId);
  }
}

/** Lambda's context object: https://docs.aws.amazon.com/lambda/latest/dg/nodejs-context.html */
function contextOf(awsRequestId: string, deadline: number, callerGone: AbortSignal) {
  const { env } = process;
  return {
    awsRequestId,
    callbackWaitsForEmptyEventLoop: true,
    functionName: env.AWS_LAMBDA_FUNCTION_NAME,
    functionVersion: env.AWS_LAMBDA_FUNCTION_VERSION,
    invokedFunctionArn,
    logGroupName: env.AWS_LAMBDA_LOG_GROUP_NAME,
    logStreamName: env.AWS_LAMBDA_LOG_STREAM_NAME,
    memoryLimitInMB: env.AWS_LAMBDA_FUNCTION_MEMORY_SIZE,
    [CALLER_GONE]: callerGone,
    getRemainingTimeInMillis: () => Math.max(0, deadline - machineNow()),
  };
}

function toFunctionError(error: unknown): FunctionError {
  try {
    if (!(error instanceof Error)) return { errorType: "Error", errorMessage: String(error) };
    return { errorType: error.name, errorMessage: error.message, thrown: toThrown(error, DEEPEST_CAUSE) };
  } catch {
    return { errorType: "Error", errorMessage: "an unknown error that has no text" };
  }
}

function toThrown({ message, stack = message, cause }: Error, deeper: number): ThrownError {
  const isDeeper = cause instanceof Error && deeper > 0;
  return { message, stack, ...(isDeeper ? { cause: toThrown(cause, deeper - 1) } : {}) };
}

function tellRunner(message: RuntimeMessage): void {
  process.send?.(message);
}
