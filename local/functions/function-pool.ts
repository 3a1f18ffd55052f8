import { availableParallelism, totalmem } from "node:os";
import { errorText } from "../local-error.ts";
import type { FunctionSpec } from "../template/resources.ts";
import {
  type EnvironmentHost,
  type ExecutionEnvironment,
  type Outcome,
  startExecutionEnvironment,
} from "./execution-environment.ts";

/** A waiting `receive` holds an environment for up to 20 s, so at most this many calls of `receive` can wait at the same time. */
const MAX_ENVIRONMENTS = 40;
const MIN_ENVIRONMENTS = 4;
const ENVIRONMENTS_PER_CORE = 8;
/** The memory of one environment, and the part of the machine's memory that one function's environments may take together. */
const ENVIRONMENT_BYTES = 64 * 1024 * 1024;
const MEMORY_PART = 1 / 20;
/** How many environments may start at once. Each start keeps a core busy for a moment, and the running environments need the cores too. */
const MAX_STARTING = 2;
/** An invocation waits this long, times the environments, before one more starts. More than long polls need would not help busy cores. */
const PATIENCE_MS = 10;
/** An environment that was idle for this time is ended, for example after a burst. One environment always stays. */
const IDLE_LIMIT_MS = 120_000;
const REAP_EVERY_MS = 15_000;
/** Lambda's limit for the event and for the answer of a synchronous invocation. */
const MAX_PAYLOAD_BYTES = 6 * 1024 * 1024;

/** The execution environments of one Lambda function, and the queue of invocations that wait for one of them. */
export type FunctionPool = {
  readonly spec: FunctionSpec;
  /** Runs the function. Never rejects: a failure is an outcome. `caller` is aborted when it has hung up. */
  readonly invoke: (event: unknown, caller?: AbortSignal) => Promise<Outcome>;
  readonly warm: () => void;
  /** Resolves once the running invocations know that the clock was moved. */
  readonly followClock: () => Promise<unknown>;
  readonly pids: () => number[];
  /** Later invocations run with this code and these settings. Running invocations end with the old ones. */
  readonly replace: (spec: FunctionSpec) => void;
  /** Waits up to `graceMs` for running invocations, then ends every process. */
  readonly stop: (graceMs: number) => Promise<void>;
  readonly isStopping: () => boolean;
};

/** Answers how many environments one function may have on a machine. `memory`: bytes. */
export function mostEnvironments({ cores, memory }: { cores: number; memory: number }): number {
  const fitting = Math.min(
    cores * ENVIRONMENTS_PER_CORE,
    Math.floor((memory * MEMORY_PART) / ENVIRONMENT_BYTES),
  );
  return Math.min(Math.max(fitting, MIN_ENVIRONMENTS), MAX_ENVIRONMENTS);
}

type Waiting = {
  readonly event: string;
  readonly caller: AbortSignal | undefined;
  readonly since: number;
  readonly settle: (outcome: Outcome) => void;
};
type Idle = { readonly environment: ExecutionEnvironment; readonly since: number };

type State = {
  readonly host: EnvironmentHost;
  readonly most: number;
  spec: FunctionSpec;
  /** Every environment, with the spec from which it was started. */
  readonly all: Map<ExecutionEnvironment, FunctionSpec>;
  /** A stack: the environment that was used last is used next. So environments that only a burst needed stay idle and are ended. */
  readonly idle: Idle[];
  readonly waiting: Waiting[];
  starting: number;
  stopping: boolean;
  growth: NodeJS.Timeout | undefined;
};

export function createFunctionPool(spec: FunctionSpec, host: EnvironmentHost): FunctionPool {
  const most = mostEnvironments({ cores: availableParallelism(), memory: totalmem() });
  const all: State["all"] = new Map();
  const idle: Idle[] = [];
  const counts = { starting: 0, stopping: false, growth: undefined };
  const pool: State = { host, most, spec, all, idle, waiting: [], ...counts };
  const reaper = setInterval(() => endIdle(pool), REAP_EVERY_MS);
  reaper.unref();
  return {
    get spec() {
      return pool.spec;
    },
    invoke: (event, caller) => enqueue(pool, event, caller),
    warm: () => {
      if (all.size + pool.starting === 0 && !pool.stopping) void start(pool);
    },
    followClock: () => Promise.all([...all.keys()].map((environment) => environment.followClock())),
    replace: (next) => {
      pool.spec = next;
      const isQuiet = all.size + pool.starting === idle.length;
      for (const { environment } of idle.splice(0)) environment.kill();
      // New code that cannot be loaded is reported at once, and not only with the next invocation.
      if (isQuiet && !pool.stopping) void start(pool);
    },
    pids: () => [...all.keys()].filter((environment) => environment.isAlive()).map(({ pid }) => pid),
    stop: (graceMs) => {
      clearInterval(reaper);
      return stop(pool, graceMs);
    },
    isStopping: () => pool.stopping,
  };
}

function enqueue(pool: State, event: unknown, caller: AbortSignal | undefined): Promise<Outcome> {
  if (pool.stopping) return Promise.resolve(stopped());
  const json = JSON.stringify(event);
  if (Buffer.byteLength(json) > MAX_PAYLOAD_BYTES) return Promise.resolve(tooLarge("event"));
  return new Promise((settle) => {
    pool.waiting.push({ event: json, caller, since: Date.now(), settle });
    dispatch(pool);
  });
}

function dispatch(pool: State): void {
  const { waiting, idle } = pool;
  while (waiting.length > 0) {
    const environment = takeIdle(idle);
    if (!environment) break;
    const next = waiting.shift();
    if (next) void run(pool, environment, next);
  }
  if (waiting.length > 0) grow(pool);
}

function takeIdle(idle: Idle[]): ExecutionEnvironment | undefined {
  for (let entry = idle.pop(); entry; entry = idle.pop()) {
    if (entry.environment.isAlive()) return entry.environment;
  }
  return undefined;
}

async function run(
  pool: State,
  environment: ExecutionEnvironment,
  { event, caller, settle }: Waiting,
): Promise<void> {
  const outcome = await environment.invoke(event, caller);
  if (pool.stopping || pool.all.get(environment) !== pool.spec) environment.kill();
  else if (environment.isAlive() && outcome.outcome !== "timed-out" && outcome.outcome !== "crashed")
    pool.idle.push({ environment, since: Date.now() });
  settle(withinLimit(outcome));
  dispatch(pool);
}

function grow(pool: State): void {
  const { waiting, stopping, growth, all, starting, spec, most } = pool;
  const [oldest] = waiting;
  const cap = Math.min(spec.reservedConcurrency ?? most, most);
  if (!oldest || stopping || growth || all.size + starting >= cap) return;
  if (starting >= Math.min(MAX_STARTING, waiting.length)) return;
  const patience = PATIENCE_MS * (all.size + starting) - (Date.now() - oldest.since);
  pool.growth = setTimeout(
    () => {
      pool.growth = undefined;
      dispatch(pool);
    },
    patience > 0 ? patience : PATIENCE_MS,
  );
  if (patience <= 0) void start(pool);
}

async function start(pool: State): Promise<void> {
  const { all, idle, host, spec } = pool;
  pool.starting += 1;
  try {
    const environment = await startExecutionEnvironment(spec, host);
    all.set(environment, spec);
    void environment.exited.then(() => {
      all.delete(environment);
      dispatch(pool);
    });
    if (pool.stopping || spec !== pool.spec) environment.kill();
    else idle.push({ environment, since: Date.now() });
  } catch (error) {
    failToStart(pool, spec, error);
  } finally {
    pool.starting -= 1;
    dispatch(pool);
  }
}

/** As on Lambda, the invocation that needed the environment fails. The next invocation tries to start one again. */
function failToStart(pool: State, started: FunctionSpec, error: unknown): void {
  // A stop deletes the code of processes that still start.
  if (pool.stopping) return;
  const errorMessage = errorText(error);
  const thrown = error instanceof Error ? error.cause : undefined;
  const record = { level: "ERROR", message: `could not start: ${errorMessage}`, thrown };
  pool.host.onLine(pool.spec.logicalId, JSON.stringify(record), started.codeDir, pool.host.clock.now());
  if (started !== pool.spec) return;
  pool.waiting
    .shift()
    ?.settle({ outcome: "crashed", error: { errorType: "Runtime.InitError", errorMessage } });
}

function endIdle({ idle, all }: State): void {
  const now = Date.now();
  while (idle.length > 1 && all.size > 1 && now - (idle[0]?.since ?? now) > IDLE_LIMIT_MS)
    idle.shift()?.environment.kill();
}

async function stop(pool: State, graceMs: number): Promise<void> {
  const { all, idle, waiting } = pool;
  pool.stopping = true;
  for (const { settle } of waiting.splice(0)) settle(stopped());
  clearTimeout(pool.growth);
  for (const { environment } of idle) environment.kill();
  const ended = Promise.all([...all.keys()].map(({ exited }) => exited));
  const timer = setTimeout(() => {
    for (const environment of all.keys()) environment.kill();
  }, graceMs);
  await ended;
  clearTimeout(timer);
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
