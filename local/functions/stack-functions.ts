import { formatLogLine, type LogLine } from "../log-lines.ts";
import type { FunctionError } from "../processes/function-process.ts";
import type { RunnerLog } from "../runner-log.ts";
import { displayName } from "../template/display-name.ts";
import type { FunctionSpec, StackSpec } from "../template/resources.ts";
import type { EnvironmentHost, Outcome } from "./execution-environment.ts";
import { createFunctionPool, type FunctionPool } from "./function-pool.ts";

export type StackFunctions = {
  readonly pools: readonly FunctionPool[];
  /** Logs why an invocation failed. */
  readonly invoke: (pool: FunctionPool, event: unknown, caller?: AbortSignal) => Promise<Outcome>;
  /** `name`: a function's name, its logical id, or a part of the logical id that no other function has. */
  readonly find: (name: string) => FunctionPool;
  /** How many invocations run or wait for a process. */
  readonly running: () => number;
  /** Begins no invocation while `move` goes on. */
  readonly hold: (move: () => Promise<void>) => Promise<void>;
  /** Resolves once the running invocations know that the clock was moved. */
  readonly followClock: () => Promise<unknown>;
  readonly replace: (specs: readonly FunctionSpec[]) => void;
  readonly codeDirs: () => string[];
  readonly pids: () => Record<string, number[]>;
  readonly stop: () => Promise<unknown>;
};

type Host = Pick<EnvironmentHost, "guard" | "variables" | "clock"> & {
  readonly addLine: RunnerLog["add"];
  readonly root: string;
};

export function createFunctions(
  stack: StackSpec,
  { guard, variables, clock, addLine, root }: Host,
): StackFunctions {
  const onLine = lineAdder(stack, addLine, root);
  const pools = stack.functions.map((spec) => createFunctionPool(spec, { guard, variables, clock, onLine }));
  const flow = createFlow();
  return {
    pools,
    invoke: async (pool, event, caller) => {
      const outcome = await flow.count(() => pool.invoke(event, caller));
      // The stop ends the processes, also those of callers that wait, such as a worker's receive.
      const isEnded = pool.isStopping() && outcome.outcome === "crashed";
      if (outcome.outcome !== "returned" && !isEnded) {
        const { logicalId, codeDir } = pool.spec;
        onLine(logicalId, recordOf(pool.spec, outcome.error), codeDir, clock.now());
      }
      return outcome;
    },
    find: (name) => findPool(pools, name),
    running: flow.running,
    hold: flow.hold,
    followClock: () => Promise.all(pools.map((pool) => pool.followClock())),
    replace: (specs) => {
      for (const spec of specs) pools.find((pool) => pool.spec.arn === spec.arn)?.replace(spec);
    },
    codeDirs: () => pools.map(({ spec }) => spec.codeDir),
    pids: () => Object.fromEntries(pools.map((pool) => [pool.spec.logicalId, pool.pids()])),
    stop: () => Promise.all(pools.map((pool) => pool.stop(0))),
  };
}

/** A record of the log about a run that failed. */
function recordOf({ isPython }: FunctionSpec, { errorType, errorMessage, thrown }: FunctionError): string {
  // The message of a Python error is often no sentence: that of a KeyError is the key.
  const isRaised = isPython && thrown !== undefined;
  const message = isRaised ? [errorType, errorMessage].filter(Boolean).join(": ") : errorMessage;
  return JSON.stringify({ level: "ERROR", message, thrown });
}

function lineAdder(stack: StackSpec, addLine: RunnerLog["add"], root: string): EnvironmentHost["onLine"] {
  const names = new Map(stack.functions.map((spec) => [spec.logicalId, displayName(spec, stack)]));
  // Code that runs in its own folder is named from the project's folder.
  const inProject = new Set(
    stack.functions.flatMap(({ logicalId, bundle }) => (bundle?.folder === undefined ? [] : logicalId)),
  );
  const webhooks = new Map(
    stack.functions.map(({ logicalId, environment }) => [logicalId, environment.MINUTEHAND_WEBHOOK_TOPIC]),
  );
  return (logicalId, line, codeDir, writtenAt, pid) => {
    const from = inProject.has(logicalId) ? root : codeDir;
    const readable = formatLogLine(names.get(logicalId) ?? logicalId, line, writtenAt, from);
    if (readable === undefined) return;
    const text = readable.text + secretHint(webhooks.get(logicalId), readable.event);
    // A logger may give a record a time of its own, even a later one.
    addLine({ ...readable, text, ...(pid !== undefined && { pid }) }, Math.min(readable.at, writtenAt));
  };
}

/** A receiver answers 401 if it has another secret. `topic`: that of a function that calls webhooks. */
function secretHint(topic: string | undefined, event: LogLine["event"]): string {
  if (topic === undefined || !/^HTTP 401\b/.test(String(event?.error))) return "";
  return `; its secret: minutehand receiver-secret URL --topic ${topic}`;
}

/** Counts what runs, and begins nothing while it is held. */
function createFlow() {
  let running = 0;
  let held: Promise<void> | undefined;
  return {
    running: () => running,
    count: async <Result>(act: () => Promise<Result>): Promise<Result> => {
      while (held) await held;
      running += 1;
      try {
        return await act();
      } finally {
        running -= 1;
      }
    },
    hold: async (move: () => Promise<void>) => {
      held = move().finally(() => {
        held = undefined;
      });
      await held;
    },
  };
}

function findPool(pools: readonly FunctionPool[], name: string): FunctionPool {
  const exact = pools.find(({ spec }) => spec.logicalId === name || spec.name === name);
  const similar = pools.filter(({ spec }) => spec.logicalId.includes(name));
  const pool = exact ?? (similar.length === 1 ? similar[0] : undefined);
  if (pool) return pool;
  throw new Error(
    `"${name}" must name exactly one function, got ${similar.length}; allowed: ${pools.map(({ spec }) => spec.logicalId).join(", ")}`,
  );
}
