import { availableParallelism, totalmem } from "node:os";
import {
  type EnvironmentHost,
  type ExecutionEnvironment,
  type Outcome,
  startExecutionEnvironment,
} from "./execution-environment.ts";
import { errorText } from "./local-error.ts";
import type { FunctionSpec } from "./resources.ts";

/** Long polls hold an environment for 20 s each, so this is how many of them run at once, where the machine bears as many. */
const MAX_ENVIRONMENTS = 40;
const LEAST_ENVIRONMENTS = 4;
const ENVIRONMENTS_PER_CORE = 8;
/** Bytes that one takes, and the part of the machine's memory that those of one function may take together. */
const ENVIRONMENT_BYTES = 64 * 1024 * 1024;
const MEMORY_PART = 1 / 20;
/** Each start takes a core for a moment, which is the running ones' too. */
const MAX_STARTING = 2;
/**
 * How long an invocation waits for the running environments, per each of them, before another is started.
 * Long polls soon get as many as they need; work that keeps the cores busy anyway gets no more than help.
 */
const PATIENCE_MS = 10;
const IDLE_LIMIT_MS = 120_000;
const REAP_EVERY_MS = 15_000;
/** Lambda's limit for the event and the answer of a synchronous invocation. */
const MAX_PAYLOAD_BYTES = 6 * 1024 * 1024;

/** One Lambda function: its environments, and the invocations that wait for one. */
export type FunctionPool = {
  readonly spec: FunctionSpec;
  /** Never rejects. */
  readonly invoke: (event: unknown) => Promise<Outcome>;
  /** Starts the first environment if there is none. */
  readonly warm: () => void;
  readonly pids: () => number[];
  /** What is invoked from now on goes to other code or settings; what runs ends as it began. */
  readonly replace: (spec: FunctionSpec) => void;
  /** Lets what runs finish for `graceMs`, then ends every process. */
  readonly stop: (graceMs: number) => Promise<void>;
};

/** How many environments one function may have on a machine. `memory`: bytes. */
export function mostEnvironments({ cores, memory }: { cores: number; memory: number }): number {
  const borne = Math.min(
    cores * ENVIRONMENTS_PER_CORE,
    Math.floor((memory * MEMORY_PART) / ENVIRONMENT_BYTES),
  );
  return Math.min(Math.max(borne, LEAST_ENVIRONMENTS), MAX_ENVIRONMENTS);
}

type Waiting = {
  readonly event: string;
  readonly since: number;
  readonly settle: (outcome: Outcome) => void;
};
type Idle = { readonly environment: ExecutionEnvironment; readonly since: number };

export function createFunctionPool(first: FunctionSpec, host: EnvironmentHost): FunctionPool {
  let spec = first;
  const most = mostEnvironments({ cores: availableParallelism(), memory: totalmem() });
  const cap = () => Math.min(spec.reservedConcurrency ?? most, most);
  /** Each with what it was started from. */
  const all = new Map<ExecutionEnvironment, FunctionSpec>();
  // The one used last is used next, so that those a burst needed fall idle and are reaped.
  const idle: Idle[] = [];
  const waiting: Waiting[] = [];
  let starting = 0;
  let stopping = false;
  let growth: NodeJS.Timeout | undefined;
  const reaper = setInterval(reap, REAP_EVERY_MS);
  reaper.unref();

  function dispatch(): void {
    while (waiting.length > 0) {
      const environment = takeIdle();
      if (!environment) break;
      const next = waiting.shift();
      if (next) void run(environment, next);
    }
    if (waiting.length > 0) grow();
  }

  function takeIdle(): ExecutionEnvironment | undefined {
    for (let entry = idle.pop(); entry; entry = idle.pop()) {
      if (entry.environment.isAlive()) return entry.environment;
    }
    return undefined;
  }

  async function run(environment: ExecutionEnvironment, { event, settle }: Waiting): Promise<void> {
    const outcome = await environment.invoke(event);
    if (stopping || all.get(environment) !== spec) environment.kill();
    else if (environment.isAlive() && outcome.outcome !== "timed-out" && outcome.outcome !== "crashed")
      idle.push({ environment, since: Date.now() });
    settle(withinLimit(outcome));
    dispatch();
  }

  /** Starts environments while invocations wait longer than the warm ones explain. */
  function grow(): void {
    const [oldest] = waiting;
    if (!oldest || stopping || growth || all.size + starting >= cap()) return;
    if (starting >= Math.min(MAX_STARTING, waiting.length)) return;
    const patience = PATIENCE_MS * (all.size + starting) - (Date.now() - oldest.since);
    growth = setTimeout(
      () => {
        growth = undefined;
        dispatch();
      },
      patience > 0 ? patience : PATIENCE_MS,
    );
    if (patience <= 0) void start();
  }

  async function start(): Promise<void> {
    starting += 1;
    const started = spec;
    try {
      const environment = await startExecutionEnvironment(started, host);
      all.set(environment, started);
      void environment.exited.then(() => {
        all.delete(environment);
        dispatch();
      });
      if (stopping || started !== spec) environment.kill();
      else idle.push({ environment, since: Date.now() });
    } catch (error) {
      // As on Lambda the invocation that needed the environment fails, the next one tries again.
      const errorMessage = errorText(error);
      host.onLine(spec.logicalId, `could not start: ${errorMessage}`);
      if (started !== spec) return;
      waiting
        .shift()
        ?.settle({ outcome: "crashed", error: { errorType: "Runtime.InitError", errorMessage } });
    } finally {
      starting -= 1;
      dispatch();
    }
  }

  function reap(): void {
    const now = Date.now();
    while (idle.length > 1 && all.size > 1 && now - (idle[0]?.since ?? now) > IDLE_LIMIT_MS)
      idle.shift()?.environment.kill();
  }

  return {
    get spec() {
      return spec;
    },
    invoke: (event) => {
      if (stopping) return Promise.resolve(stopped());
      const json = JSON.stringify(event);
      if (Buffer.byteLength(json) > MAX_PAYLOAD_BYTES) return Promise.resolve(tooLarge("event"));
      return new Promise((settle) => {
        waiting.push({ event: json, since: Date.now(), settle });
        dispatch();
      });
    },
    warm: () => {
      if (all.size + starting === 0 && !stopping) void start();
    },
    replace: (next) => {
      spec = next;
      for (const { environment } of idle.splice(0)) environment.kill();
    },
    pids: () => [...all.keys()].filter((environment) => environment.isAlive()).map(({ pid }) => pid),
    stop: async (graceMs) => {
      stopping = true;
      for (const { settle } of waiting.splice(0)) settle(stopped());
      clearInterval(reaper);
      clearTimeout(growth);
      for (const { environment } of idle) environment.kill();
      const ended = Promise.all([...all.keys()].map(({ exited }) => exited));
      const timer = setTimeout(() => {
        for (const environment of all.keys()) environment.kill();
      }, graceMs);
      await ended;
      clearTimeout(timer);
    },
  };
}

function withinLimit(outcome: Outcome): Outcome {
  const isTooLarge = outcome.outcome === "returned" && Buffer.byteLength(outcome.payload) > MAX_PAYLOAD_BYTES;
  return isTooLarge ? { ...tooLarge("answer"), outcome: "threw" } : outcome;
}

function tooLarge(what: string): Exclude<Outcome, { outcome: "returned" }> {
  const errorMessage = `the ${what} is longer than ${MAX_PAYLOAD_BYTES} bytes`;
  return { outcome: "too-large", error: { errorType: "RequestEntityTooLarge", errorMessage } };
}

function stopped(): Outcome {
  return {
    outcome: "crashed",
    error: { errorType: "Runtime.ExitError", errorMessage: "the local stack stops" },
  };
}
