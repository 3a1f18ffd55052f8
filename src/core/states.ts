import type { Home, HomeIn, State } from "./home.ts";
import { homeKey } from "./item-keys.ts";
import type { Key } from "./items.ts";
import { KEPT_OPTIONS } from "./job-options.ts";

/**
 * The whole life of a job: each write that changes a stored home is a row of `CHANGES`. The table and the picture in
 * docs/internals/overview.md are made from these rows, and the simulator's witness allows no other change. If the lease of a `running` job
 * ended more than `LEASE_GRACE` ago, its run has crashed.
 */
export type Row = {
  /** Absent: the change files the home. */
  readonly from?: State;
  /** Absent: the state stays. */
  readonly to?: State;
  readonly by: string;
  readonly when: string;
  /** Attributes that must be as they were read, besides the state. Otherwise the pool refuses the change. */
  readonly asRead?: readonly (keyof Home)[];
  readonly sets: readonly (keyof Home)[];
  /** Attributes that the change may set or remove. */
  readonly may?: readonly (keyof Home)[];
  /** Attributes that the change removes, unless it sets them. */
  readonly clears?: readonly (keyof Home)[];
};

const END = ["finishedAt", "expiresAt"] as const;
/** What each move sets. A move is a change to another revision. */
const MOVE = ["dueAt", "revision", "log"] as const;
/** A call that keeps the job notes its once item without a new revision, so `once` must be as it was read, too. */
// rule: move-only-what-was-read
const MOVED_AS_READ = ["revision", "once"] as const;
// rule: move-clears-the-last-run
const LAST_RUN = [
  "token",
  "leaseEnd",
  "sentAt",
  "cancelAskedAt",
  "finishedAt",
  "expiresAt",
  "heldUntil",
  "heldBy",
  "askedLate",
  "throttled",
] as const;
/** What a caller or an event may give a job anew. */
const ASKED = [
  ...["body", "wantedAt", "eventAt", "postponeUntil", "hasSchedule", "hasRun", "restarts", "chain"],
  ...["traceparent"],
  ...["bulk", "calls", "once", "lastError", "heldUntil", "askedLate"],
] as const satisfies (keyof Home)[];
// rule: run-ends-as-its-cancel-was-read
const RUN_AS_READ = ["token", "revision", "cancelAskedAt"] as const;
const KEEP = {
  by: "a caller or an event, with `onDuplicate`",
  asRead: ["revision", "token", "cancelAskedAt", "eventAt"],
  sets: [],
  may: ["eventAt", "once"],
  // rule: keep-lifts-the-cancel
  clears: ["cancelAskedAt"],
} as const;

/** A crashed run is settled by the process that receives the job's next message. */
const AFTER_A_CRASH = "a consumer or a puller; after a crash: the next one that receives the job";

export const CHANGES = {
  file: {
    to: "scheduled",
    by: "a caller, an event or a schedule",
    when: "an enqueue",
    sets: ["dueAt", "revision", "attempt"],
  },
  fileCancelled: {
    to: "cancelled",
    by: "a caller or an event",
    when: "an enqueue under a tombstone",
    sets: END,
    may: ["cancelledBy"],
  },
  move: {
    from: "scheduled",
    to: "scheduled",
    by: "a caller or an event",
    when: "a reschedule, a replace, a postpone: revision + 1",
    asRead: MOVED_AS_READ,
    sets: [...MOVE, "attempt", "askedAt"],
    may: [...ASKED, ...KEPT_OPTIONS],
    clears: LAST_RUN,
  },
  hold: {
    from: "scheduled",
    by: "a tick, a sender, a consumer or a call of resume",
    when: "a pause, a limit or a window gives the job a start; revision + 1 if the job may be in a queue",
    asRead: ["revision", "heldUntil"],
    sets: ["heldUntil"],
    may: ["revision", "heldBy"],
  },
  keep: { ...KEEP, from: "scheduled", when: "a call finds the job under its key, and keeps it" },
  claim: {
    from: "scheduled",
    to: "running",
    by: "a consumer or a puller",
    when: "a claim: the job is due",
    // rule: claim-by-revision
    asRead: ["revision"],
    sets: ["token", "leaseEnd", "claimedAt", "attempt"],
    may: ["sentAt", "heldUntil", "heldBy"],
  },
  cancel: {
    from: "scheduled",
    to: "cancelled",
    by: "a caller or an event",
    when: "a cancel",
    asRead: ["revision"],
    sets: END,
    may: ["bulk", "cancelledBy"],
  },
  skip: {
    from: "scheduled",
    to: "cancelled",
    by: "a consumer or a puller",
    when: "at the claim, if the job is later than `ifLate` with `skip` allows",
    asRead: ["revision", "heldUntil"],
    sets: [...END, "lastError", "cancelledBy"],
    may: ["sentAt"],
  },
  expire: {
    from: "scheduled",
    to: "expired",
    by: "a consumer, a tick or a call of resume",
    when: "the job is later than `expiresAfter` allows; at the claim, if it is later than `ifLate` with `expire` allows",
    asRead: ["revision", "heldUntil"],
    sets: [...END, "lastError"],
    may: ["sentAt"],
  },
  giveUp: {
    from: "scheduled",
    to: "dead",
    by: "a tick",
    when: "SQS refuses its message for good; its queue does not exist; no deployment knows its topic, and the queue takes no message for an hour",
    asRead: ["revision"],
    sets: [...END, "lastError"],
  },
  extend: {
    from: "running",
    by: "a puller",
    when: "the run needs a longer lease",
    asRead: ["token", "leaseEnd"],
    sets: ["leaseEnd"],
  },
  askToCancel: {
    from: "running",
    by: "an event",
    when: "the event cancels the job while it runs",
    asRead: ["token", "eventAt"],
    sets: ["cancelAskedAt"],
  },
  keepRunning: {
    ...KEEP,
    from: "running",
    when: "a call finds the job under its key, and keeps it: the cancel of an earlier event is taken back",
  },
  finish: {
    from: "running",
    to: "done",
    by: "a consumer or a puller",
    when: "the run succeeded",
    // rule: settle-by-token
    asRead: ["token"],
    sets: END,
  },
  retry: {
    from: "running",
    to: "scheduled",
    by: AFTER_A_CRASH,
    when: "the run failed, asked for a retry, crashed, or was given back before it began: revision + 1",
    asRead: [...RUN_AS_READ, "once"],
    sets: MOVE,
    may: ["attempt", "lastError", "settledBy", "once", "askedRuns", "throttled"],
    clears: LAST_RUN,
  },
  moveCrashed: {
    from: "running",
    to: "scheduled",
    by: "a caller or an event",
    when: "a reschedule, a replace or a postpone of a job whose run has crashed: revision + 1",
    asRead: ["token", "leaseEnd", ...MOVED_AS_READ],
    sets: [...MOVE, "attempt", "askedAt"],
    may: [...ASKED, ...KEPT_OPTIONS],
    clears: LAST_RUN,
  },
  cancelRun: {
    from: "running",
    to: "cancelled",
    by: AFTER_A_CRASH,
    when: "the run did not succeed, and an event had cancelled the job in the meantime",
    asRead: RUN_AS_READ,
    sets: END,
    may: ["lastError", "settledBy"],
  },
  cancelCrashed: {
    from: "running",
    to: "cancelled",
    by: "a caller or an event",
    when: "a cancel of a job whose run has crashed",
    asRead: ["token", "leaseEnd", "revision"],
    sets: [...END, "lastError"],
    may: ["bulk", "cancelledBy"],
  },
  die: {
    from: "running",
    to: "dead",
    by: AFTER_A_CRASH,
    when: "the run did not succeed, and the job has no attempts left, or was buried",
    asRead: RUN_AS_READ,
    sets: [...END, "lastError"],
    may: ["settledBy"],
  },
  dismiss: {
    from: "dead",
    to: "cancelled",
    by: "a caller",
    when: "a dismissal",
    asRead: ["revision"],
    // A cancelled job with a claim is one whose run has crashed, so the run and the death move to the log.
    sets: [...END, "log"],
    may: ["cancelledBy"],
    clears: LAST_RUN,
  },
  redrive: {
    from: "dead",
    to: "scheduled",
    by: "a caller, or SQS's redrive",
    when: "a redrive: revision + 1, attempts begin again",
    asRead: MOVED_AS_READ,
    sets: [...MOVE, "attempt", "askedAt", "wantedAt", "restarts"],
    may: ["calls", "once", "hasRun", "askedLate"],
    clears: LAST_RUN,
  },
} as const satisfies Record<string, Row>;

export type ChangeName = keyof typeof CHANGES;

/** The names of attributes that a row has in its list `L`. */
type In<N extends ChangeName, L extends keyof Row> = N extends ChangeName
  ? (typeof CHANGES)[N] extends { readonly [_ in L]: readonly (infer A extends keyof Home)[] }
    ? A
    : never
  : never;
type To<N extends ChangeName> = (typeof CHANGES)[N] extends { to: infer S } ? { state: S } : unknown;
type From<N extends ChangeName> = (typeof CHANGES)[N] extends { from: infer S extends State } ? S : State;
type Optional = { readonly [A in keyof Home]?: Home[A] | undefined };
/** What a change must know of the home: the attributes that must be as they were read, as a home in this state has them. */
type Read<N extends ChangeName, H = Pick<HomeIn<From<N>>, In<N, "asRead">>> = {
  readonly id: string;
} & Optional & {
    readonly [A in keyof H]: object extends Pick<H, A> ? H[A] | undefined : H[A];
  };

/** What a change sets, besides the state. */
export type Sets<N extends ChangeName> = Required<Pick<Home, In<N, "sets">>> &
  Partial<Pick<Home, In<N, "may">>>;

export function stateAfter<N extends ChangeName, S extends Sets<N>>(name: N, set: S): S & To<N> {
  const { to }: Row = CHANGES[name];
  return { ...(to && { state: to }), ...set } as S & To<N>;
}

/** The pool refuses the write if the home is not as it was read, `also` in these attributes. `remove`: further attributes. */
export function changeOf<N extends ChangeName, S extends Sets<N>>(
  name: N,
  read: Read<N>,
  set: S,
  { also = [], remove = [] }: { also?: readonly (keyof Home)[]; remove?: readonly string[] } = {},
): {
  key: Key;
  expect: Readonly<Record<string, string | number | undefined>>;
  set: S & To<N>;
  remove?: string[];
} {
  const { from: state, asRead = [], clears = [] }: Row = CHANGES[name];
  const values = [...asRead, ...also].map((attribute) => [attribute, (read as Optional)[attribute]]);
  const removed = [...clears, ...remove].filter((attribute) => !Object.hasOwn(set, attribute));
  return {
    key: homeKey(read.id),
    expect: { state, ...Object.fromEntries(values) },
    set: stateAfter(name, set),
    ...(removed.length > 0 && { remove: removed }),
  };
}
