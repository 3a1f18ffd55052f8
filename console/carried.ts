import type { BulkResult } from "../src/client/answers.ts";
import type { Call, Shape } from "../src/client/call.ts";
import type { BulkRequest } from "../src/client/options.ts";
import { MinutehandError, messageOf } from "../src/core/errors.ts";
import { chosenPart, leftOf, type Part } from "./carried-chosen.ts";

/** What becomes of the jobs of an action. */
export type Change = Pick<BulkRequest, "action" | "delay" | "dueAt" | "shift" | "ratePerSecond" | "reason">;
/** Which jobs a line of an action changes: those of one topic and range, of one tag and group at most. */
export type Which = Pick<BulkRequest, "topic" | "tag" | "group"> & {
  readonly from: string;
  readonly to: string;
  /** Only these jobs. Then the range says when they were due. */
  readonly jobs?: readonly Chosen[];
};

/** A chosen job. A move puts it to `dueAt`, if it still has this revision. */
export type Chosen = { readonly id: string; readonly revision?: number; readonly dueAt?: string };

/** A job that an action has left as it was, and why. */
export type Left = { readonly id: string; readonly code: string; readonly detail: string };

/** What the page asks for. `counted`: how many jobs the page has counted. `at`: the queue's time then, as the page knows it, ISO 8601. */
export type Plan = {
  readonly change: Change;
  readonly at?: string | undefined;
  readonly lines: readonly { readonly which: Which; readonly counted: number }[];
};

export type CarriedLine = Pick<BulkResult, "changed" | "skipped"> & {
  readonly which: Which;
  readonly counted: number;
  /** The line has gone through all jobs up to this time. Absent before its first part. */
  readonly reached?: string;
  /** The same bulk continues with this cursor. Of chosen jobs: how many of them were tried. */
  readonly cursor?: string;
  /** A repeat of the first part with this key changes no job twice. */
  readonly key: string;
  readonly isDone: boolean;
  /** The first of the jobs that were left. */
  readonly left: readonly Left[];
};

/** Ages are in ms. They need no clock of the page, which may be wrong. */
export type CarriedAction = {
  readonly id: string;
  /**
   * `stopping`: the present call still runs. `failed`: a call failed, also when it was repeated. `lost`: only a page says so, which has seen
   * the action in progress, if its server was started again since and does not know the action.
   */
  readonly state: "running" | "stopping" | "stopped" | "failed" | "done" | "lost";
  readonly change: Change;
  /** As the plan of the action had it. */
  readonly at?: string | undefined;
  readonly lines: readonly CarriedLine[];
  readonly startedAgo: number;
  /** Absent while the action runs. */
  readonly endedAgo?: number;
  readonly error?: { readonly code: string; readonly detail: string };
};

type Kept = Pick<CarriedAction, "id" | "change" | "at"> & {
  readonly call: Call;
  readonly startedAt: number;
  state: CarriedAction["state"];
  lines: readonly CarriedLine[];
  endedAt: number | undefined;
  error: CarriedAction["error"] | undefined;
  running: Promise<void>;
};

/** More actions than a person starts in a day. */
const MOST_KEPT = 50;
const PART: Shape = { changed: "number", skipped: "object" };
/** More jobs than a person looks at one by one. */
const MOST_LEFT = 100;

export type Carried = {
  /** Starts an action. `undefined`: the most actions run already. */
  readonly start: (plan: Plan, call: Call) => CarriedAction | undefined;
  /** The last actions, the newest first. */
  readonly list: () => CarriedAction[];
  /** Stops an action after its present call. `undefined`: there is no such action. */
  readonly stop: (id: string) => CarriedAction | undefined;
  /** Continues an action that was stopped or has failed. `undefined`: there is no such action. */
  readonly goOn: (id: string) => CarriedAction | undefined;
  /** Stops all actions, waits until their present calls have ended or `patience` has, and answers the actions that are not done. */
  readonly stopAll: (patience: Promise<unknown>) => Promise<CarriedAction[]>;
};

/** Carries on the page's actions, so that they do not end with the page. `now`: ms of any clock. */
export function createCarried(now: () => number, newId: () => string): Carried {
  let kept: readonly Kept[] = [];
  const find = (id: string) => kept.find((one) => one.id === id);
  const shown = (action: Kept | undefined) => action && shownOf(action, now());
  return {
    start({ change, at, lines }, call) {
      if (kept.length >= MOST_KEPT && kept.every(isRunning)) return undefined;
      const begun = lines.map((line) => ({
        ...{ ...line, changed: 0, skipped: {}, left: [], key: newId(), isDone: false },
      }));
      const action = { id: newId(), change, at, call, lines: begun, startedAt: now() };
      const started = begin({ ...action, ...STOPPED }, now);
      kept = [...withRoom(kept), started];
      return shown(started);
    },
    list: () => kept.toReversed().map((action) => withoutJobs(shownOf(action, now()))),
    stop(id) {
      const action = find(id);
      if (action?.state === "running") action.state = "stopping";
      return shown(action);
    },
    goOn(id) {
      const action = find(id);
      if (action?.state === "stopping") action.state = "running";
      if (action?.state === "stopped" || action?.state === "failed") begin(action, now);
      return shown(action);
    },
    async stopAll(patience) {
      for (const action of kept) if (action.state === "running") action.state = "stopping";
      await Promise.race([Promise.all(kept.map(({ running }) => running)), patience]);
      return kept.filter(({ state }) => state !== "done").map((action) => shownOf(action, now()));
    },
  };
}

const STOPPED = {
  state: "stopped",
  endedAt: undefined,
  error: undefined,
  running: Promise.resolve(),
} as const;

function isRunning({ state }: Kept): boolean {
  return state === "running" || state === "stopping";
}

/** Forgets the oldest action that does not run, if no further one can be kept. */
function withRoom(kept: readonly Kept[]): readonly Kept[] {
  const oldest = kept.length < MOST_KEPT ? undefined : kept.find((one) => !isRunning(one));
  return kept.filter((one) => one !== oldest);
}

function begin(action: Kept, now: () => number): Kept {
  Object.assign(action, { state: "running", error: undefined, endedAt: undefined });
  action.running = carryOn(action).finally(() => {
    action.endedAt = now();
  });
  return action;
}

/** Does one part after the other until the action is done or stopped, or a call fails. Never throws. */
async function carryOn(action: Kept): Promise<void> {
  try {
    for (const index of action.lines.keys()) {
      for (let line = action.lines[index]; line && !line.isDone; line = action.lines[index]) {
        if (action.state === "stopping") {
          action.state = "stopped";
          return;
        }
        action.lines = action.lines.with(index, await afterPart(action, line));
      }
    }
    action.state = "done";
  } catch (error) {
    action.state = "failed";
    const code = error instanceof MinutehandError ? error.code : "internal";
    action.error = { code, detail: messageOf(error) };
  }
}

/** Lets the API do the next part of a line. */
async function afterPart({ change, call }: Kept, line: CarriedLine): Promise<CarriedLine> {
  const { cursor: before, ...known } = line;
  const part = line.which.jobs === undefined ? bulkPart : chosenPart;
  const { changed, skipped, left, reached, cursor } = await part(call, change, line);
  return {
    ...known,
    changed: line.changed + changed,
    skipped: sumOf(line.skipped, skipped),
    left: [...line.left, ...left].slice(0, MOST_LEFT),
    ...(reached === undefined ? {} : { reached }),
    ...(cursor === undefined ? {} : { cursor }),
    isDone: cursor === undefined,
  };
}

async function bulkPart(call: Call, { reason, ...change }: Change, line: CarriedLine): Promise<Part> {
  const { which, cursor: before, key } = line;
  const body = { ...change, ...which, ...(before === undefined ? {} : { cursor: before }) };
  const sent = { body, query: { reason }, idempotencyKey: key };
  const { errors = [], ...part } = await call<BulkResult>("POST", "/jobs/bulk", PART, sent);
  if (part.cursor !== undefined && part.cursor === before)
    throw new MinutehandError("bad-answer", "/jobs/bulk answered the same cursor twice");
  return { ...part, left: errors.map(leftOf) };
}

type Skipped = BulkResult["skipped"];

function sumOf(before: Skipped, part: Skipped): Skipped {
  const codes = new Set([...Object.keys(before), ...Object.keys(part)]);
  return Object.fromEntries([...codes].map((code) => [code, (before[code] ?? 0) + (part[code] ?? 0)]));
}

/** The page reads the actions each second, and there may be thousands of chosen jobs. */
function withoutJobs(action: CarriedAction): CarriedAction {
  const lines = action.lines.map(({ which, ...line }) => ({
    ...line,
    which: which.jobs === undefined ? which : { ...which, jobs: [] },
  }));
  return { ...action, lines };
}

function shownOf(kept: Kept, now: number): CarriedAction {
  const { id, state, change, at, lines, startedAt, endedAt, error } = kept;
  return {
    ...{ id, state, change, at, lines, startedAgo: now - startedAt },
    ...(endedAt === undefined ? {} : { endedAgo: now - endedAt }),
    ...(error === undefined ? {} : { error }),
  };
}
