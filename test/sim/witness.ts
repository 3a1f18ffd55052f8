import { isDeepStrictEqual } from "node:util";
import { fromAttributes } from "../../aws/attributes.ts";
import type { Call } from "../../consumer/webhook/call.ts";
import { CLOCK_MARGIN, DAY, KNOWN_CALLS, PAUSE_KNOWN_FOR, WRITER_DEADLINE } from "../../core/constants.ts";
import { isFinished, startsAt } from "../../core/home.ts";
import {
  type Home,
  LIMITED_TOPICS,
  PAUSED_TOPICS,
  sortable,
  type Tombstone,
  timeOf,
} from "../../core/items.ts";
import { addressOf } from "../../core/job-id.ts";
import { type MessageJob, startOf } from "../../core/message.ts";
import { onceNotesOf } from "../../core/once.ts";
import type { Policy } from "../../core/policy.ts";
import { DEAD_RETENTION } from "../../testing/sqs-limits.ts";
import { bulksOf } from "./bulks.ts";
import type { Weather } from "./faults.ts";
import { limitsOf } from "./limits.ts";
import { pausesOf } from "./pauses.ts";
import { recurringOf } from "./recurring.ts";
import type { Row } from "./services/expressions.ts";
import { type Claim, wrongIn } from "./told-timeline.ts";
import { tombstonesOf } from "./tombstones.ts";
import { windowsOf } from "./windows.ts";

/** A promise that was broken, and how. `P1` to `P6` are the README's; the others say what holds them up. */
export type Violation = { promise: string; id: string; text: string; time: number };

/** A job as a user was told it is. */
export type Told = {
  id: string;
  topic: string;
  state: string;
  dueAt: string;
  revision: number;
  body?: unknown;
  outcome?: string;
};

/** What a user asked for: the body, if it was said, and a time from `from` to `to` by anybody's clock. */
export type Asked = {
  body?: unknown;
  from?: number;
  to?: number;
  /** ms after the first job of its key was filed, by somebody's clock, that postponing may put it off. */
  postponing?: { maxDelay: number; from: number; to: number };
};

/** When a job's messages let it start, at the earliest and the latest. */
type Starts = { from: number; to: number };

/** `askedAt`: when a caller asked for it, or for an earlier one. `since`: when the pool stored it. ms since the epoch. */
type Revision = {
  dueAt: number;
  body: string;
  attempt: number;
  askedAt: number;
  postponeUntil: number | undefined;
  since: number;
};

/** What is known of one job. */
type Known = {
  home: Home | undefined;
  revisions: Revision[];
  /** Runs that began, by what their message said. */
  starts: Map<string, number>;
  /** Runs whose handler ended, and those that it ended well, likewise. */
  ends: Set<string>;
  successes: Set<string>;
  claims: Claim[];
  acknowledged: boolean;
  /** Calls that cancel it, and when each was over: ms since the epoch. */
  cancels: { until: number }[];
  /** No older revision may start. */
  oldest: number;
  cancelled: boolean;
  looks: Set<string>;
  /** When it was parked, by its revision and the start that it had then: of notes that stand. ms since the epoch. */
  parkedAt: Map<string, number>;
  /** When messages that SQS took let it start, by their revision and by their due time. */
  handedOff: Map<string, Starts>;
  /** A message said until when it may run. */
  expires: boolean;
  /** TTL took its untracked home before a sweep came to it. */
  outlived: boolean;
  /** Revisions that the DLQ was given, and those whose envelope somebody destroyed. */
  envelopes: Set<number>;
  destroyed: Set<number>;
  /** When it died, of each dead entry that lists it. ms since the epoch. */
  listed: Set<number>;
  /** Handlers that run it now. */
  running: number;
  /** Messages that SQS took for it. Of those: what a puller has given back out of a pack, and what was sent merely to be sure. */
  sends: number;
  givenBack: number;
  spares: number;
  /** When the messages of its revisions were made. */
  madeAt: Set<string>;
  /** How often a call or an event found it again: each has its message sent once more, to be sure. */
  finds: number;
  /** When a handler first began with it, ms since the epoch. */
  startedAt: number | undefined;
  /** The `webhook-id` of its calls, by how often it had been redriven. */
  callIds: Map<number, string>;
  restarts: number;
};

/**
 * Of its writer, or of the later look that the writer files when SQS takes nothing; of the sweep that passes its own look; and
 * of the message before it.
 */
const SENDS_A_REVISION = 3;
/** Of audits, whose looks come ever more seldom, and of consumers that give a job back. */
const MORE_SENDS = 5;

/** ms that a look must outlast its time, since ticks may be missing so long (docs/internals/crash-table.md). */
const OUTAGE = 89 * DAY;
/** ms past its start that an untracked job waits for a tick (docs/reference/tracking.md). */
const UNTRACKED_OUTAGE = 10 * DAY;

/** ms from looking at a pause to the run: an invocation's life, or till a caller of `receive` gave up. */
const LONGEST_CLAIM = 60_000;

/** ms that one tick which dies can make a job late whose start a release gives: the next tick sends it. */
const TICK_MISSED = 62_000;

/** ms for which a sender that was under way may know nothing of a pause, or that its job was parked. */
const UNKNOWING = PAUSE_KNOWN_FOR + WRITER_DEADLINE;

/** ms from choosing a write's times to its landing. */
const LATEST_WRITE = WRITER_DEADLINE + 300_000;

/** A run as its message had it. */
export type Run = { id: string; topic: string; attempt: number; dueAt: number; body: string };

/** ms from looking at a topic's window to the message: a call that is repeated, or a function that freezes. */
const LONGEST_SEND = { hurt: 200_000, else: 65_000 };

export type Witness = ReturnType<typeof witnessOf>;

/**
 * Sees every write, every run and every answer from outside, and says when a promise is broken. It trusts nothing
 * that the code under test says of itself but its answers to users.
 */
export function witnessOf(settings: {
  clock: () => number;
  weather: Weather;
  topics: Policy["topics"];
  /** ms that the writer's clock may be off. */
  skew: number;
  untracked: ReadonlySet<string>;
  /** ms that a run of a job may start after its due time. */
  latest: (id: string) => number;
  /** Text that SQS takes no message with. */
  unwanted: string;
  /** Whether an attempt may be lost without a run. */
  burns: boolean;
  onViolation: (violation: Violation) => void;
}) {
  const { clock, skew, untracked, topics, weather, latest, burns, onViolation } = settings;
  const pauses = pausesOf({ clock, skew, claims: weather === "calm" ? 2000 : LONGEST_CLAIM });
  const limits = limitsOf({ clock, skew, topics });
  const windows = windowsOf(topics);
  const longestSend = weather === "hurt" ? LONGEST_SEND.hurt : LONGEST_SEND.else;
  const jobs = new Map<string, Known>();
  const holders = new Map<string, Set<string>>();
  const requests = new Map<string, string>();
  /** When a request is over that was answered with a job that it kept. */
  const keptUntil = new Map<string, number>();
  /** Jobs with their starts, in messages of those who did not know the topic. */
  const sentUnknowing = new Set<string>();
  /** Bodies that a job is given once, however often the call is sent that gives it. */
  const givenOnce = new Set<string>();
  const lateness: number[] = [];
  let messages = 0;
  let parked = 0;
  const parkedRevisions = new Set<string>();
  /** Starts of a limit that were noted later than asked for, of jobs that nobody had parked. */
  let held = 0;
  let repeats = 0;
  /** Letters that each DLQ was given. */
  const letters = new Map<string, number>();
  /** Topics that ticks look after for their limit or their pause. */
  const tendedTopics = new Set<string>();
  let runsByFunctions = 0;
  /** How far each shard was audited. */
  const audits = new Map<number, string>();
  const sweeps = new Map<number, string>();

  const violate = (promise: string, id: string, text: string): void =>
    onViolation({ promise, id, text, time: clock() });

  const recurring = recurringOf((id, text) => violate("once", id, text));
  const bulks = bulksOf({ clock, skew, broken: (id, text) => violate("bulk", id, text) });
  const tombstones = tombstonesOf({
    clock,
    skew,
    weather,
    broken: (id, text) => violate("events", id, text),
  });

  /** Rows never change once they are stored: each is read once. */
  const homes = new WeakMap<Row, Home>();
  const homeOf = (row: Row): Home => {
    const home = homes.get(row) ?? (fromAttributes(row) as Home);
    homes.set(row, home);
    return home;
  };

  const known = (id: string): Known => {
    const found = jobs.get(id);
    if (found) return found;
    const fresh: Known = {
      home: undefined,
      revisions: [],
      starts: new Map(),
      ends: new Set(),
      successes: new Set(),
      claims: [],
      acknowledged: false,
      cancels: [],
      oldest: 0,
      cancelled: false,
      looks: new Set(),
      parkedAt: new Map(),
      handedOff: new Map(),
      expires: false,
      outlived: false,
      envelopes: new Set(),
      destroyed: new Set(),
      listed: new Set(),
      running: 0,
      sends: 0,
      givenBack: 0,
      spares: 0,
      madeAt: new Set(),
      finds: 0,
      startedAt: undefined,
      callIds: new Map(),
      restarts: 0,
    };
    jobs.set(id, fresh);
    return fresh;
  };

  const wordsOf = ({ attempt, dueAt, body }: Pick<Run, "attempt" | "dueAt" | "body">): string =>
    `${attempt} ${dueAt} ${body}`;
  /** The revisions that a message with these words may be of. */
  const revisionsOf = (job: Known, words: string): number[] =>
    job.revisions.flatMap((revision, i) =>
      revision && wordsOf({ ...revision, attempt: revision.attempt + 1 }) === words ? [i] : [],
    );

  function homeWritten(before: Home | undefined, after: Home | undefined): void {
    const id = (after ?? before)?.id ?? "";
    const job = known(id);
    job.home = after ?? job.home;
    if (!after) {
      if (before && !isFinished(before) && !before.untracked)
        violate("state", id, "deleted while it is not finished");
      job.outlived = before !== undefined && isOutlived(before);
    } else {
      if (!before) recurring.created(id, after.body, !after.untracked);
      const wrong = transition(job, before, after);
      if (wrong) violate("state", id, `${wrong}: ${JSON.stringify(before)} became ${JSON.stringify(after)}`);
      // Where much goes wrong, a sender may stand still for an hour, and then give a start to a job that was parked meanwhile.
      const overstated = before ? overstatedLoss(job, before, after) : 0;
      if (overstated > 0)
        violate("ifLate", id, `${overstated} ms of its hold count as lateness: ${JSON.stringify(after)}`);
      const { dueAt, body, attempt, postponeUntil, askedAt = after.createdAt } = after;
      const isBack =
        before && before.body !== body && job.revisions.some((revision) => revision?.body === body);
      if (isBack && givenOnce.has(body)) violate("once", id, `a repeated call gave it ${body} again`);
      job.revisions[after.revision] ??= { dueAt, body, attempt, askedAt, postponeUntil, since: clock() };
      if (before?.state === "scheduled" && after.state === "running")
        job.claims.push({ attempt: after.attempt, at: after.claimedAt ?? 0 });
      const untold = isFinished(after) && !after.untracked && wrongIn(after, job.claims, skew);
      if (untold) violate("timeline", id, `${untold}: ${JSON.stringify(after)}`);
      mustBeAhead(job, audits.get(addressOf(id).shard) ?? "");
    }
    const key = (after ?? before)?.key;
    if (key !== undefined) {
      tombstones.filed(before, after);
      const name = `${(after ?? before)?.topic} ${key}`;
      const live = holders.get(name) ?? new Set();
      holders.set(name, live);
      if (after && !isFinished(after)) live.add(id);
      else live.delete(id);
      if (live.size > 1) violate("key", id, `key ${key} names ${[...live].join(" and ")}, both live`);
    }
  }

  /** An untracked job has no revisions: each time that it asks again it gets a message of its own. */
  const revisionsOfAll = (): number =>
    [...jobs.values()].reduce(
      (sum, job) => sum + Math.max(job.revisions.length, job.starts.get("") ?? 0, 1),
      0,
    );

  /** What the state machine of `core/home.ts` does not allow. */
  function transition(job: Known, before: Home | undefined, after: Home): string | undefined {
    const change = `${before?.state ?? "nothing"} → ${after.state}`;
    if (isFinished(after) !== (after.expiresAt !== undefined) && !after.untracked)
      return `${change} with a wrong TTL`;
    if (!before) {
      const buried = after.state === "cancelled" && tombstones.standsFor(after);
      return (after.state === "scheduled" || buried) && after.revision === 0 ? undefined : change;
    }
    if (!remembers(before, after)) return `${change} without its Idempotency-Keys`;
    const moved = after.revision === before.revision + 1;
    if (!moved && after.revision !== before.revision) return `${change} by several revisions`;
    if (moved) {
      const clean = after.state === "scheduled" && after.token === undefined && after.leaseEnd === undefined;
      const from = before.state === "scheduled" || before.state === "running" || before.state === "dead";
      if (!clean || !from) return `${change} as a move`;
      const isAsked = after.wantedAt !== before.wantedAt || after.body !== before.body;
      if (isAsked && (after.askedAt ?? 0) < clock() - LATEST_WRITE - skew)
        return "it does not say when it was asked for";
      const { postponeUntil = after.postponeUntil } = before;
      if ((after.postponeUntil ?? postponeUntil) !== postponeUntil) return "its first bound moved";
      bulks.changed(before, after);
      if (isGivenBack(job, before, after)) return undefined;
      if (before.state === "dead") forgetRequests(before);
      if (before.state === "dead" || (before.attempt > 0 && after.attempt === 0)) job.restarts += 1;
      return before.state === "running" ? endOf(job, before) : undefined;
    }
    switch (change) {
      case "scheduled → running":
        return after.attempt === before.attempt + 1 && after.token && after.leaseEnd
          ? undefined
          : `${change} unclaimed`;
      case "running → running":
        if (after.token !== before.token) return "a claim over a claim";
        return after.cancelAskedAt === undefined ||
          after.cancelAskedAt === before.cancelAskedAt ||
          isCancelled(job, before)
          ? undefined
          : "cancelled for no reason";
      case "running → done": {
        if (after.token !== before.token) return `${change} by another claim`;
        const words = wordsOf(after);
        return job.successes.has(words) ? undefined : `${change}, but no handler succeeded`;
      }
      case "scheduled → scheduled": {
        // A start that is noted, a TTL put off for a pause's sake, or an event or a call that keeps it or sends it again.
        const { heldFrom, heldUntil, expiresAt, keptAt, once, sentFor, uncounted } = after;
        const may = { heldFrom, heldUntil, expiresAt, keptAt, once, sentFor, uncounted };
        return isDeepStrictEqual(after, dropUndefined({ ...before, ...may })) ? undefined : change;
      }
      case "scheduled → cancelled":
        return isCancelled(job, before) || isLate(job, before, "skip")
          ? undefined
          : `${change} for no reason`;
      case "scheduled → dead":
        return recorded(job, after);
      case "running → dead":
        return endOf(job, before) ?? recorded(job, after);
      case "running → cancelled":
        if (before.cancelAskedAt !== undefined)
          return isGivenUp(job, before) ? undefined : endOf(job, before);
        if (!isCancelled(job, before)) return `${change} for no reason`;
        return released(before) ? undefined : `${change} under a live lease`;
      case "scheduled → expired":
        return isOverdue(before) || isLate(job, before, "expire") ? undefined : `${change} too soon`;
      case "cancelled → scheduled":
        return before.untracked && before.inTimeAt === undefined ? undefined : change;
      case "cancelled → cancelled":
        // Its cancel is seen to have come in time.
        return before.untracked && isDeepStrictEqual(after, { ...before, inTimeAt: after.inTimeAt })
          ? undefined
          : change;
      default:
        return change;
    }
  }

  function countSend(job: Known, { revision, sentAt, spare }: MessageJob): void {
    const made = `${revision} ${sentAt}`;
    job.sends += 1;
    if (spare) job.spares += 1;
    else if (job.madeAt.has(made)) job.givenBack += 1;
    job.madeAt.add(made);
  }

  /** A claim that came too late for a run is given back, and counts no attempt: no run of it may start from then on. */
  function isGivenBack(job: Known, before: Home, after: Home): boolean {
    const words = wordsOf(before);
    if (before.state !== "running" || job.starts.has(words)) return false;
    if (after.attempt !== before.attempt - 1 || after.askedAt !== before.askedAt) return false;
    job.starts.set(words, 1);
    return true;
  }

  /** The same of a job that is cancelled meanwhile: it ends, and no run of the claim may start from then on. */
  function isGivenUp(job: Known, before: Home): boolean {
    const words = wordsOf(before);
    if (job.starts.has(words)) return false;
    job.starts.set(words, 1);
    return true;
  }

  /** A redrive brings no request back that was forgotten as its job had been over for a day. */
  function forgetRequests({ id, finishedAt = 0 }: Home): void {
    if (finishedAt + DAY > clock() + skew) return;
    for (const [request, named] of requests) if (named === id) requests.delete(request);
  }

  /** A run ends by its own handler's word, or by its lease. */
  function endOf(job: Known, before: Home): string | undefined {
    if (job.ends.has(wordsOf(before))) return undefined;
    if (!burns) return "an attempt was lost without a run";
    return released(before) ? undefined : "a run ended by somebody else";
  }

  /**
   * Whether anybody wants it cancelled. A request of a call that is over may land late, but it leaves a job alone that was
   * moved since.
   */
  function isCancelled({ cancels, revisions }: Known, home: Home): boolean {
    const since = revisions[home.revision]?.since ?? 0;
    const isAsked = cancels.some(({ until }) => since <= until);
    const mayEvent = home.key !== undefined && tombstones.mayCancel(home);
    const due = revisions.map(({ dueAt }) => dueAt);
    return isAsked || bulks.mayCancel(home, due) || mayEvent;
  }

  /** Whether a job is later than its own bound. */
  function isOverdue({ wantedAt, expiresAfter = Number.POSITIVE_INFINITY }: Home): boolean {
    return clock() + skew > wantedAt + expiresAfter;
  }

  /** Whether a job is later than its topic's bound, which counts from when it may start, without its topic's pauses. */
  function isLate({ handedOff }: Known, home: Home, then: "skip" | "expire"): boolean {
    const { ifLate } = topics[home.topic] ?? {};
    // Of two messages at once the claim meets the one that was sent before the home said a later start.
    const start = Math.min(
      startsAt(home),
      handedOff.get(`revision ${home.revision}`)?.from ?? startsAt(home),
    );
    // What it had lost before its hold is lateness, too.
    const before = Math.max((home.heldFrom ?? home.dueAt) - home.dueAt, 0);
    const late = clock() + skew - start - pauses.heldFor(home.topic, start) + before;
    return ifLate?.do === then && late > ifLate.after * 1000;
  }

  /**
   * By how much a job that is given a new start seems to have lost more than it has, in ms. What a pause took, and what has passed
   * since it was parked, is not lost.
   */
  function overstatedLoss({ parkedAt }: Known, before: Home, after: Home): number {
    const lost = ({ dueAt, heldFrom = dueAt }: Home): number => Math.max(heldFrom - dueAt, 0);
    if (after.dueAt !== before.dueAt || lost(after) <= lost(before)) return 0;
    const start = startsAt(before);
    const end = parkedAt.get(`${before.revision} ${start}`) ?? clock();
    const most = Math.max(end - start - pauses.heldFor(before.topic, start, end), 0) + 2 * skew + UNKNOWING;
    return lost(after) - lost(before) - most;
  }

  /** Whether an untracked job waits in the pool for its start, acknowledged or not. */
  function isToCome({ home, handedOff }: Known): boolean {
    return (
      home?.untracked === true &&
      home.state === "scheduled" &&
      handedOff.size === 0 &&
      startsAt(home) > clock()
    );
  }

  /** A job is dead when everybody can know: it is listed, and its envelope lies in the DLQ, if SQS takes it. */
  function recorded(
    { envelopes, listed }: Known,
    { revision, body, finishedAt = 0 }: Home,
  ): string | undefined {
    if (!listed.has(finishedAt)) return "dead, but not listed";
    return envelopes.has(revision) || body.includes(settings.unwanted)
      ? undefined
      : "dead without an envelope";
  }

  /** Whether a lease is over by every clock. */
  function released({ leaseEnd = 0 }: Home): boolean {
    return clock() + skew >= leaseEnd + CLOCK_MARGIN;
  }

  /** Whether a job has been dead for so long that its DLQ keeps no letter any more. */
  function isForgotten({ finishedAt = 0 }: Home): boolean {
    return finishedAt + DEAD_RETENTION <= clock() + skew;
  }

  /** Whether a job has been over for as long as a repeat of its request must find it: a day. */
  function isOnceOver(id: string): boolean {
    const { home, handedOff } = known(id);
    // Of an untracked job nobody knows when it ends: a day counts from when it was due.
    const untrackedEnd = home ? home.dueAt : Math.max(...[...handedOff.values()].map(({ to }) => to));
    const end = home && !home.untracked ? home.finishedAt : untrackedEnd;
    return end !== undefined && end + DAY <= clock() + skew;
  }

  /** Whether no tick has come to an untracked job for so long that it may be lost (docs/reference/tracking.md). */
  function isOutlived(home: Home): boolean {
    const swept = sweeps.get(addressOf(home.id).shard);
    const start = startsAt(home);
    return swept !== undefined && timeOf(swept) <= start && start + UNTRACKED_OUTAGE <= clock() + skew;
  }

  /** Whether no audit has come to a job's shard for so long that TTL may have taken its once item (docs/internals/decisions/once-items.md). */
  function isAuditOut(id: string): boolean {
    const audit = audits.get(addressOf(id).shard);
    return audit !== undefined && timeOf(audit) + 2 * DAY <= clock() + skew;
  }

  /** The invariant everything rests on (docs/internals/overview.md): the audit never passes the last look. */
  function audited(shard: number, position: string): void {
    audits.set(shard, position);
    for (const job of jobs.values())
      if (isOpen(job) && addressOf(job.home?.id ?? "").shard === shard) mustBeAhead(job, position);
  }

  function mustBeAhead({ home, looks }: Known, position: string): void {
    if (!home || home.untracked || isFinished(home)) return;
    const wanted = home.state === "scheduled" ? sortable(home.dueAt) : "";
    if (![home.sk, ...looks].some((sk) => sk > position && sk >= wanted))
      violate("P1", home.id, `the audit is at ${position}, past its last look: ${JSON.stringify(home)}`);
  }

  return {
    lateness,
    pauses,
    limits,
    recurring,
    tombstones,
    bulks,
    /** Every item that changes. */
    written(before: Row | undefined, after: Row | undefined): void {
      const row = (after ?? before) as Row;
      if (row.id && row.state) {
        const isHeld = before && after?.heldUntil && after.heldUntil.N !== before.heldUntil?.N;
        if (isHeld && !parkedRevisions.has(`${row.id.S} ${row.revision?.N}`)) held++;
        homeWritten(before && homeOf(before), after && homeOf(after));
      } else if (row.sk?.S?.endsWith("#look")) {
        const { looks } = known(row.id?.S ?? "");
        if (after && Number(after.expiresAt?.N) * 1000 < timeOf(row.sk.S) + OUTAGE)
          violate("P1", row.id?.S ?? "", `a look that an outage outlasts: ${JSON.stringify(after)}`);
        if (after) looks.add(row.sk.S);
        else looks.delete(row.sk.S);
      } else if (row.pk?.S === LIMITED_TOPICS || row.pk?.S === PAUSED_TOPICS) {
        tendedTopics.add(`${row.pk.S} ${row.sk?.S}`);
      } else if (row.pk?.S?.startsWith("paused#")) {
        if (!before) parked++;
        parkedRevisions.add(`${row.id?.S} ${row.revision?.N}`);
        const { revisions, parkedAt } = known(row.id?.S ?? "");
        const revision = Number(row.revision?.N);
        const place = `${revision} ${row.start?.N ?? revisions[revision]?.dueAt}`;
        if (!after) parkedAt.delete(place);
        else if (!parkedAt.has(place)) parkedAt.set(place, clock());
      } else if (row.pk?.S?.startsWith("dead#")) {
        const { listed } = known(row.id?.S ?? "");
        if (after) listed.add(timeOf(row.sk?.S ?? ""));
        else listed.delete(timeOf(row.sk?.S ?? ""));
      } else if (row.pk?.S?.startsWith("once#")) {
        const named = after?.id?.S;
        if (named !== undefined && named !== before?.id?.S) {
          known(named).finds += 1;
          tombstones.noted(row.pk.S, named);
        }
      } else if (row.pk?.S?.startsWith("tombstone#")) {
        tombstones.left(
          before && (fromAttributes(before) as Tombstone),
          after && (fromAttributes(after) as Tombstone),
        );
      } else if (row.pk?.S?.startsWith("key#") && after?.expiresAt) {
        const home = jobs.get(row.id?.S ?? "")?.home;
        if (home && !isFinished(home)) violate("key", home.id, `its key is let go: ${JSON.stringify(after)}`);
      } else if (after?.swept?.S !== undefined && after.audited?.S !== undefined) {
        sweeps.set(shardOf(row), after.swept.S);
        if (after.audited.S !== before?.audited?.S) audited(shardOf(row), after.audited.S);
      }
    },

    /** An answer that promises that the job will run as told. `request` names what must become one job. */
    acknowledged(told: Told, request: string | undefined): void {
      const job = known(told.id);
      if (!job.home && !untracked.has(told.topic))
        violate("P1", told.id, "acknowledged, but not in the pool");
      job.acknowledged = true;
      if (told.outcome === "kept" || told.outcome === "replayed") job.finds += 1;
      if (request !== undefined) {
        const named = requests.get(request);
        const isOver =
          named !== undefined &&
          (isOnceOver(named) || isAuditOut(named) || clock() >= (keptUntil.get(request) ?? Infinity));
        if (named !== undefined && named !== told.id && !isOver)
          violate("once", told.id, `${request} is ${named} too`);
        if (told.outcome === "kept")
          keptUntil.set(request, Math.max(clock(), Date.parse(told.dueAt)) + DAY - skew);
        requests.set(request, told.id);
      }
    },

    /**
     * An answer to a call that changed the job to what was asked, and nothing else. `hasToken`: when its first answer is lost
     * the call is repeated, and may find that others have changed the job after it.
     */
    granted(told: Told, asked: Asked, hasToken = false): void {
      const dueAt = Date.parse(told.dueAt);
      const job = known(told.id);
      const { body, from, to } = boundedBy(job, told, asked);
      const isAsAsked = (revision: Revision): boolean =>
        (from === undefined || revision.dueAt >= from) &&
        (to === undefined || revision.dueAt <= to) &&
        (body === undefined || revision.body === JSON.stringify(body));
      if (hasToken && job.revisions.slice(0, told.revision).some(isAsAsked)) return;
      if (from !== undefined && dueAt < from)
        violate("P2", told.id, `due ${from - dueAt} ms before it was asked for`);
      if (to !== undefined && dueAt > to)
        violate("P3", told.id, `due ${dueAt - to} ms after it was asked for`);
      const stored = job.revisions[told.revision];
      if (untracked.has(told.topic)) return;
      if (stored?.dueAt !== dueAt)
        violate("P1", told.id, `told to be due at ${dueAt}, stored as ${stored?.dueAt}`);
      if (body !== undefined && stored?.body !== JSON.stringify(body))
        violate("P1", told.id, `asked to be ${JSON.stringify(body)}, stored as ${stored?.body}`);
    },

    /** An answer that says that only this revision, or a later one, may start from now on. */
    moved(told: Told): void {
      const job = known(told.id);
      job.oldest = Math.max(job.oldest, told.revision);
      if (job.home && job.home.revision < told.revision)
        violate("P1", told.id, `revision ${told.revision} was told`);
    },

    /** A call with a token gives a job this body, which no other does. */
    gives(body: unknown): void {
      givenOnce.add(JSON.stringify(body));
    },

    /** A user calls to cancel a job. Answers what to call when that call is over, answered or not. */
    cancelAsked(id: string): () => void {
      const cancel = { until: Number.POSITIVE_INFINITY };
      known(id).cancels.push(cancel);
      return () => {
        cancel.until = clock();
      };
    },

    cancelled({ id }: Told): void {
      known(id).cancelled = true;
    },

    /**
     * Jobs of a message that SQS took, and when it shows it. Who is not answered cannot know, and sends again. Who does not know
     * the topic, as a deploy has removed it for a while, does not know its window either: such a message may be taken apart later.
     */
    handedOff(
      topic: string,
      carried: readonly MessageJob[],
      visibleAt: number,
      { isAnswered, knowsTopic }: { isAnswered: boolean; knowsTopic: boolean },
    ): void {
      for (const job of carried) {
        const [{ handedOff, home }, start] = [known(job.id), startOf(job)];
        if (isAnswered) countSend(known(job.id), job);
        // A crashed run is sent to be settled.
        const isToRun =
          untracked.has(topic) || (home?.state === "scheduled" && home.revision === job.revision);
        const begins = Math.max(start, Date.parse(job.sentAt ?? job.dueAt));
        const sent = `${job.id} ${job.revision} ${begins}`;
        if (!knowsTopic) sentUnknowing.add(sent);
        const isHeld = isToRun && !sentUnknowing.has(sent);
        if (isHeld && !windows.wasOpen(topic, begins - longestSend, begins))
          violate("window", job.id, `handed over to start at ${begins}, out of its window`);
        if (job.expiresAt !== undefined) known(job.id).expires = true;
        // A near untracked one was never stored.
        recurring.created(job.id, JSON.stringify(job.body), !untracked.has(topic));
        for (const name of [`revision ${job.revision}`, `due ${Date.parse(job.dueAt)}`]) {
          const { from, to } = handedOff.get(name) ?? { from: start, to: start };
          handedOff.set(name, { from: Math.min(from, start), to: Math.max(to, start) });
        }
      }
      messages += carried.length;
      limits.sent(topic, carried, visibleAt);
      // Who is slow sends a start that its job's home does not say any more. And a repeated request whose first call may have
      // died sends an untracked job that was never stored: nothing can say which start that one took.
      const asNoted = carried.filter(({ id, ...job }) => {
        const { home } = known(id);
        return home ? startOf(job) === (home.heldUntil ?? startOf(job)) : weather === "calm";
      });
      for (const { id, heldUntil } of limits.startedAnew(topic, asNoted))
        violate("P6", id, `given a second start of its limit, at ${heldUntil}, while the first is ahead`);
    },

    /** How many revisions jobs had, untracked ones that were never stored too, how often one was handed off and parked, and runs by functions. */
    sent: () => ({
      revisions: revisionsOfAll(),
      messages,
      parked,
      held,
      runs: runsByFunctions,
      tendedTopics: tendedTopics.size,
    }),

    /** How many letters a DLQ was given by name; SQS puts some there itself. */
    lettersTo: (queue: string): number => letters.get(queue) ?? 0,

    /** A dead job's envelope that its DLQ took. */
    enveloped(queue: string, id: string, revision: number): void {
      known(id).envelopes.add(revision);
      letters.set(queue, (letters.get(queue) ?? 0) + 1);
    },

    /** A tick died, failed or ran beside another one: what it had sent may be sent again. */
    repeated(): void {
      repeats += 1;
    },

    /** Somebody threw a dead job's envelope away, which lay in a ready queue after SQS's own redrive. */
    destroyed(id: string, revision: number): void {
      known(id).destroyed.add(revision);
    },

    /** A handler runs a job until the callback: two at once are one too many, as a function dies with its lease. */
    running({ id, topic }: Run): () => void {
      const job = known(id);
      if (untracked.has(topic)) return () => {};
      job.running += 1;
      if (job.running > 1) violate("P5", id, "runs twice at the same time");
      let over = false;
      return () => {
        if (!over) job.running -= 1;
        over = true;
      };
    },

    /** More was spent than growth may cost. */
    overspent: (text: string): void => violate("P6", "", text),

    /** A handler begins. `now`: by the clock of its machine. */
    started(run: Run, now: number): void {
      const job = known(run.id);
      pauses.started(run.topic);
      // SQS alone knows when an untracked job that was given back is due again.
      const again = untracked.has(run.topic) && job.starts.size > 0;
      // Of an untracked job's run nobody else knows the revision.
      const name = untracked.has(run.topic) ? `due ${run.dueAt}` : `revision ${job.home?.revision}`;
      const { from, to } = job.handedOff.get(name) ?? { from: run.dueAt, to: run.dueAt };
      const late = clock() - windows.opensAt(run.topic, pauses.freeAt(run.topic, to));
      job.startedAt ??= clock();
      // No message came of a revision with such a text. A message of another revision may run the job, as late as that one comes.
      const isRefused = job.revisions.some(({ body }) => body.includes(settings.unwanted));
      if (!again && !isRefused) lateness.push(late);
      if (topics[run.topic]?.consumer !== "pull") runsByFunctions += 1;
      // A release gives starts for a limit, and for the rate of a resume.
      const isReleased =
        topics[run.topic]?.maxPerSecond !== undefined || (to > run.dueAt && pauses.disturb(run.topic));
      const most = Math.max(latest(run.id), isReleased && weather === "one fault" ? TICK_MISSED : 0);
      if (!again && late > most && !isRefused && !bulks.isMark(run.dueAt))
        violate("P3", run.id, `started ${late} ms late`);
      // What SQS has of an untracked topic when a pause begins comes at once after the resume.
      if (!untracked.has(run.topic)) limits.ran(run.topic);
      if (!again) limits.started({ id: run.id, topic: run.topic, dueAt: run.dueAt, start: to });
      if (now < from) violate("P2", run.id, `started ${from - now} ms early`);
      const { ifLate } = topics[run.topic] ?? {};
      if (ifLate && late > ifLate.after * 1000 + LONGEST_CLAIM + skew)
        violate("ifLate", run.id, `ran ${late} ms late`);
      // Lambda's pollers alone hold what is not claimed.
      const polled = untracked.has(run.topic) && topics[run.topic]?.consumer !== "pull";
      const after = polled && weather !== "calm" ? undefined : pauses.tooLate(run.topic, polled);
      if (after !== undefined)
        violate("pause", run.id, `started ${after} ms after its topic had to be quiet`);
      if (untracked.has(run.topic)) {
        if (job.cancelled) violate("P4", run.id, "started after its cancel was acknowledged");
        job.starts.set("", (job.starts.get("") ?? 0) + 1);
        return;
      }
      const { state, leaseEnd = 0 } = job.home ?? {};
      if (state === "expired" || state === "cancelled") violate("P4", run.id, `started, and is ${state}`);
      if (state === "running" && clock() > leaseEnd + skew)
        violate("P5", run.id, "started past its own lease");
      const words = wordsOf(run);
      const revisions = revisionsOf(job, words);
      const count = (job.starts.get(words) ?? 0) + 1;
      job.starts.set(words, count);
      if (job.cancelled) violate("P4", run.id, "started after its cancel was acknowledged");
      if (revisions.length === 0) violate("P4", run.id, `started as it never was: ${words}`);
      else if (Math.max(...revisions) < job.oldest)
        violate("P4", run.id, `revision ${revisions.at(-1)} started, but ${job.oldest} was acknowledged`);
      else if (count > revisions.length)
        violate("P5", run.id, `revision ${revisions.at(-1)} started ${count} times`);
    },

    /** When a job first started, ms since the epoch. */
    startedAt: (id: string): number | undefined => known(id).startedAt,

    /** When a topic's jobs may start that may by themselves at a time, for all its pauses and its window. */
    freeAt: (topic: string, time: number): number => windows.opensAt(topic, pauses.freeAt(topic, time)),

    /** A job was late that nothing excuses. */
    punctual: (id: string, text: string): void => violate("P3", id, text),

    /** The topic of a job that was stored. */
    topicOf: (id: string): string => jobs.get(id)?.home?.topic ?? "",

    /** When a job is due as the pool has it. */
    dueAt: (id: string): number => known(id).home?.dueAt ?? 0,

    /** A receiver is called: one `webhook-id` for all attempts, a new one after each redrive. */
    called(id: string, { url, headers }: Call): void {
      const { home, callIds, restarts } = known(id);
      const callId = headers["webhook-id"] ?? "";
      const wanted = home?.callbackUrl ?? topics[home?.topic ?? ""]?.webhook?.url;
      if (url !== wanted) violate("P4", id, `${url} was called, not ${wanted}`);
      const same = callIds.get(restarts) ?? callId;
      const others = [...callIds].filter(([at]) => at !== restarts).map(([, other]) => other);
      if (callId !== same || others.includes(callId))
        violate("webhook-id", id, `${callId} after ${restarts} restarts, and ${same} and ${others} before`);
      callIds.set(restarts, callId);
    },

    /** A handler has ended, or whoever pulled the job says so. */
    ended(run: Run, well: boolean): void {
      const job = known(run.id);
      job.ends.add(wordsOf(run));
      if (well) job.successes.add(wordsOf(run));
    },

    /** Something that must not happen, whatever goes wrong around it. */
    defect: (text: string): void => violate("defect", "", text),

    /** An item that nothing will ever delete. */
    rubbish: (id: string, pk: string): void => violate("rubbish", id, `${pk} stays for ever`),

    /** Jobs that are known of. */
    count: () => jobs.size,

    /** Jobs that have not ended. `mayLose`: whether messages that SQS took can be lost. */
    unfinished: (mayLose: boolean): string[] =>
      [...jobs].flatMap(([id, job]) =>
        isOpen(job) || isToCome(job) || !cameUntracked(job, mayLose) ? [id] : [],
      ),

    /** When all faults are long over: what was promised and did not happen. `lies`: whether a DLQ has its envelope. */
    judge(mayLose: boolean, lies: (dead: Home) => boolean): void {
      recurring.judge();
      for (const [id, { sends, givenBack, spares, finds, revisions, starts }] of jobs) {
        // The retries of an untracked job have no revision.
        const counted = Math.max(revisions.length, 1) + (starts.get("") ?? 0);
        // What a tick sends again may come in a pack that a puller takes apart, and be void when it is opened.
        const again = repeats + Math.min(repeats, givenBack) + Math.min(repeats, spares);
        const most = SENDS_A_REVISION * counted + MORE_SENDS + finds + again;
        if (sends > most)
          violate(
            "P6",
            id,
            `${sends} messages for ${revisions.length} revisions, at most ${most} are allowed`,
          );
      }
      // A resume's own rate holds jobs too, and an outage's end may be long after they were due.
      const waited = weather === "calm" ? limits.waitedTooLong(windows.openFor) : [];
      for (const { id, topic, dueAt, start } of waited)
        if (!pauses.disturb(topic)) violate("P3", id, `was held for ${start - dueAt} ms`);
      for (const [id, job] of jobs) {
        const what = job.acknowledged ? "acknowledged, but" : "filed, but";
        const { home } = job;
        const dead = home?.state === "dead" && !home.untracked && !home.body.includes(settings.unwanted);
        if (dead && !isForgotten(home) && !job.destroyed.has(home.revision) && !lies(home))
          violate("P1", id, "dead, but its envelope is gone from the DLQ");
        if (isOpen(job)) violate("P1", id, `${what} never ended: ${JSON.stringify(job.home)}`);
        if (!cameUntracked(job, mayLose))
          violate("P1", id, "an untracked job was not handed off, or did not come");
      }
    },
  };
}

/** A postponed job is due when it was asked for, but no later than its bound, which counts from its last change before. */
function boundedBy({ revisions }: Known, { outcome, revision }: Told, asked: Asked): Asked {
  const { from = 0, to = 0, postponing } = asked;
  if (!postponing) return asked;
  const { maxDelay } = postponing;
  const { postponeUntil, askedAt = 0 } = revisions[revision - 1] ?? {};
  const first = postponeUntil ?? askedAt + maxDelay;
  const kept = outcome === "postponed" ? first : undefined;
  const most = { from: kept ?? postponing.from + maxDelay, to: kept ?? postponing.to + maxDelay };
  // A time that has passed becomes now.
  return {
    ...asked,
    from: Math.min(from, most.from),
    to: Math.max(Math.min(to, most.to), postponing.to),
  };
}

function dropUndefined<T extends object>(values: T): T {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as T;
}

/**
 * Whether a home still names the once items that it named, none of them for a shorter time. A call that meets a keyed job may
 * have added its own, for which the oldest of ten goes.
 */
function remembers(before: Home, after: Home): boolean {
  const [known, notes] = [onceNotesOf(before.once), onceNotesOf(after.once)];
  const added = after.key === undefined ? [] : notes.slice(-1);
  return [known, [...known, ...added].slice(-KNOWN_CALLS)].some(
    (wanted) =>
      wanted.length === notes.length &&
      wanted.every(({ token, expiresAt }, i) => token === notes[i]?.token && expiresAt <= notes[i].expiresAt),
  );
}

/** Of a cursor's row. */
function shardOf({ pk }: Row): number {
  return Number(pk?.S?.slice("cursor#".length));
}

function isOpen({ home }: Known): boolean {
  return home !== undefined && !home.untracked && !isFinished(home);
}

/** Whether an untracked job went the way it was promised: to SQS, and from there too unless messages get lost. */
function cameUntracked(
  { home, acknowledged, cancelled, handedOff, expires, outlived, starts }: Known,
  mayLose: boolean,
): boolean {
  if (
    !acknowledged ||
    cancelled ||
    expires ||
    outlived ||
    (home && (!home.untracked || isFinished(home))) ||
    home?.expiresAfter !== undefined
  )
    return true;
  return handedOff.size > 0 && (mayLose || starts.size > 0);
}
