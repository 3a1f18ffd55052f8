import { isDeepStrictEqual } from "node:util";
import { fromAttributes } from "../../aws/attributes.ts";
import type { Call } from "../../consumer/webhook/call.ts";
import {
  BUCKET,
  CLOCK_MARGIN,
  DAY,
  HEALTHY_READY,
  KNOWN_CALLS,
  WRITER_DEADLINE,
} from "../../core/constants.ts";
import { isFinished, startsAt } from "../../core/home.ts";
import {
  type Home,
  LIMITED_TOPICS,
  PAUSED_TOPICS,
  type SharedOnceItem,
  sortable,
  type Tombstone,
  timeOf,
} from "../../core/items.ts";
import { addressOf } from "../../core/job-id.ts";
import { keptOptionsOf } from "../../core/job-options.ts";
import { type MessageJob, startOf } from "../../core/message.ts";
import { onceNotesOf } from "../../core/once.ts";
import type { Policy } from "../../core/policy.ts";
import type { ChangeName } from "../../core/states.ts";
import { sharedJobs } from "../../protocol/store/shared-once-item.ts";
import { DEAD_RETENTION } from "../../testing/sqs-limits.ts";
import { bulksOf } from "./bulks.ts";
import type { Weather } from "./faults.ts";
import { limitsOf } from "./limits.ts";
import { pausesOf } from "./pauses.ts";
import { recurringOf } from "./recurring.ts";
import { repeatsOf } from "./repeats.ts";
import type { Row } from "./services/expressions.ts";
import { changesBetween } from "./states.ts";
import { type Claim, wrongIn } from "./told-timeline.ts";
import { tombstonesOf } from "./tombstones.ts";
import { windowsOf } from "./windows.ts";

/** A promise that was broken, and how. `P1` to `P6` are the README's promises. The others are rules on which those rest. */
export type Violation = { promise: string; id: string; text: string; time: number };

export type Told = {
  id: string;
  topic: string;
  state: string;
  dueAt: string;
  revision: number;
  body?: unknown;
  outcome?: string;
};

/** What each judge of the witness needs. `skew`: ms that a clock may be off. `broken`: told of each broken promise. */
export type Bench = { clock: () => number; skew: number; broken: (id: string, text: string) => void };

/** What a user asked for: the body, if the request had one, and a due time from `from` to `to`, by any clock that may be off. */
export type Asked = {
  body?: unknown;
  from?: number;
  to?: number;
  /** `maxDelay`: ms after the first request by which the job may be postponed at most. The request came from `from` to `to`. */
  postponing?: { maxDelay: number; from: number; to: number };
};

/** The earliest and the latest start that a job's messages say. */
type Starts = { from: number; to: number };

/** `askedAt`: when a caller last asked for the job to be as it is. `since`: when the pool stored the revision. ms since the epoch. */
type Revision = {
  dueAt: number;
  body: string;
  attempt: number;
  askedAt: number;
  postponeUntil: number | undefined;
  since: number;
};

type Known = ReturnType<typeof unknownJob>;

const unknownJob = () => ({
  home: undefined as Home | undefined,
  revisions: [] as Revision[],
  /** How many runs began, by the attempt, due time and body in their message. */
  starts: new Map<string, number>(),
  /** Runs whose handler ended, and runs whose handler succeeded, by the same values. */
  ends: new Set<string>(),
  successes: new Set<string>(),
  claims: [] as Claim[],
  acknowledged: false,
  /** The calls that cancel the job, and when each ended: ms since the epoch. */
  cancels: [] as { until: number }[],
  /** The oldest revision that may still start. */
  oldest: 0,
  cancelled: false,
  looks: new Set<string>(),
  /** The starts in messages that SQS accepted, by revision and by due time. */
  handedOff: new Map<string, Starts>(),
  /** Whether TTL deleted the untracked job's home before a sweep read it. */
  outlived: false,
  /** Revisions whose envelope was sent to the DLQ, and those whose envelope a fault destroyed. */
  envelopes: new Set<number>(),
  destroyed: new Set<number>(),
  /** The time in each dead entry that lists the job. ms since the epoch. */
  listed: new Set<number>(),
  running: 0,
  /** How often SQS accepted a message with the job. `givenBack`: sends of a job split from a pulled pack. */
  sends: 0,
  givenBack: 0,
  /** The longest that it waited past its start until its home changed. ms. */
  waited: 0,
  /** Revision and `sentAt` of each message, to recognise one that is sent again. */
  madeAt: new Set<string>(),
  /** How often a repeated call or an event found the job again. Each time its message may be sent once more as a precaution. */
  finds: 0,
  /** When a handler first began with it, ms since the epoch. */
  startedAt: undefined as number | undefined,
  /** The `webhook-id` of its webhook calls, by the number of `restarts`. */
  callIds: new Map<number, string>(),
  restarts: 0,
});

const HOUR = DAY / 24;

/** The writer (or a sweep in its place), the revision's own sweep, and the consumer of a message of the revision before. */
const SENDS_A_REVISION = 3;
/** More sends for each job: by audits, whose looks become ever rarer, and by consumers that give a job back. */
const MORE_SENDS = 5;

/**
 * More sends of a job that waited for its consumers. Each look sends it twice: the sweep, and the audit ten minutes later. There is a look
 * each hour until these messages themselves count as a backlog, and then at most one a day.
 */
function sendsWhileWaiting(waited: number): number {
  const looks = Math.min(Math.floor(waited / HOUR), HEALTHY_READY / 2 + 1) + Math.ceil(waited / DAY);
  return waited < HOUR ? 0 : 2 * looks;
}

/** Further sends of a job if ticks died, or ran at the same time. Then the cursors' compare-and-set stops all of them but one. */
const SENDS_BY_OVERLAP = 2;

/** ms that a look must stay after its time, because ticks may be missing for so long (docs/internals/crash-table.md). */
const OUTAGE = 89 * DAY;
/** ms after its start for which an untracked job waits for a tick (docs/reference/tracking.md). */
const UNTRACKED_OUTAGE = 10 * DAY;

/** The most ms from the read of a pause to the run: until an invocation reaches its timeout, or a caller of `receive` gives up. */
const LONGEST_CLAIM = 60_000;

/** ms by which one tick that dies can delay a job whose start a release gives: the next tick sends the job. */
const TICK_MISSED = 62_000;

/** The most ms from the moment at which a writer chose the times that it writes to the moment at which the write takes effect. */
const LATEST_WRITE = WRITER_DEADLINE + 300_000;

export type Run = { id: string; topic: string; attempt: number; dueAt: number; body: string };

/** The most ms from the check of a topic's window to the send: a call may be repeated, or a function may freeze. */
const LONGEST_SEND = { hurt: 200_000, else: 65_000 };

export type Witness = ReturnType<typeof witnessOf>;

/** Sees every write, run and answer from outside, and reports broken promises. It believes the code under test only its answers. */
export function witnessOf(settings: {
  clock: () => number;
  weather: Weather;
  topics: Policy["topics"];
  /** ms that a clock may be off. */
  skew: number;
  untracked: ReadonlySet<string>;
  /** How many ms after its due time a job may start. */
  latest: (id: string) => number;
  unwanted: string;
  /** For how many ms DynamoDB takes no writes of looks. In that time each audit sends the same jobs again. */
  unwritten?: number;
  /** Whether an attempt can be used up although its job never ran. */
  burns: boolean;
  onViolation: (violation: Violation) => void;
}) {
  const { clock, skew, untracked, topics, weather, latest, burns, unwritten = 0, onViolation } = settings;
  const claims = weather === "calm" ? 2000 : LONGEST_CLAIM;
  /** How long after a start that a job is given the job's home may say it: ms. If it were longer, the wait for the start would count as lateness. */
  const latestStart = weather === "calm" ? WRITER_DEADLINE : LATEST_WRITE;
  const latestEnd = weather === "calm" ? claims : claims + LATEST_WRITE;
  const pauses = pausesOf({ clock, claims, latestEnd, mayCrash: weather === "hurt" });
  const limits = limitsOf(clock, skew, topics);
  const windows = windowsOf(topics);
  const longestSend = weather === "hurt" ? LONGEST_SEND.hurt : LONGEST_SEND.else;
  const jobs = new Map<string, Known>();
  const holders = new Map<string, Set<string>>();
  /** Jobs and starts in messages that were sent while the sender's deployment did not have the topic. */
  const sentUnknowing = new Set<string>();
  /** Bodies that one call with a token gives to a job: a repeat of the call must not give the body again. */
  const givenOnce = new Set<string>();
  const lateness: number[] = [];
  let messages = 0;
  let parked = 0;
  const parkedRevisions = new Set<string>();
  /** How many starts were delayed, by a limit or a window, for jobs that were not parked. */
  let held = 0;
  let repeatedTicks = 0;
  const letters = new Map<string, number>();
  /** Topics whose limit or pause each tick must read. */
  const tendedTopics = new Set<string>();
  let runsByFunctions = 0;
  const audits = new Map<number, string>();
  const sweeps = new Map<number, string>();

  const violate = (promise: string, id: string, text: string): void =>
    onViolation({ promise, id, text, time: clock() });

  const bench = (promise: string): Bench => ({
    ...{ clock, skew },
    broken: (id, text) => violate(promise, id, text),
  });
  const recurring = recurringOf(bench("once").broken);
  const repeats = repeatsOf(bench("once"), (id) => isOnceOver(id) || isAuditOut(id));
  const bulks = bulksOf(bench("bulk"));
  const tombstones = tombstonesOf(bench("events"), weather);

  /** Caches the home of each row, because a stored row never changes. */
  const homes = new WeakMap<Row, Home>();
  const homeOf = (row: Row): Home => {
    const home = homes.get(row) ?? (fromAttributes(row) as Home);
    homes.set(row, home);
    return home;
  };

  const known = (id: string): Known => {
    const found = jobs.get(id);
    if (found) return found;
    const fresh = unknownJob();
    jobs.set(id, fresh);
    return fresh;
  };

  const wordsOf = ({ attempt, dueAt, body }: Pick<Run, "attempt" | "dueAt" | "body">): string =>
    `${attempt} ${dueAt} ${body}`;
  /** The revisions to which a message with this attempt, due time and body may belong. */
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
      if (!before && !after.untracked) repeats.created(after);
      const wrong = wrongChange(job, before, after);
      if (wrong) violate("state", id, `${wrong}: ${JSON.stringify(before)} became ${JSON.stringify(after)}`);
      const { dueAt, body, attempt, postponeUntil, askedAt = after.createdAt } = after;
      const isBack =
        before && before.body !== body && job.revisions.some((revision) => revision?.body === body);
      if (isBack && givenOnce.has(body)) violate("once", id, `a repeated call gave it ${body} again`);
      job.revisions[after.revision] ??= { dueAt, body, attempt, askedAt, postponeUntil, since: clock() };
      if (before?.state === "scheduled") job.waited = Math.max(job.waited, clock() - startsAt(before));
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

  /** How many revisions all jobs had. An untracked job has no revisions, so its runs count: each retry sends a message. */
  const revisionsOfAll = (): number =>
    [...jobs.values()].reduce(
      (sum, job) => sum + Math.max(job.revisions.length, job.starts.get("") ?? 0, 1),
      0,
    );

  /** Says why `core/states.ts`, or what has happened, does not allow a change of a home. `undefined`: the change is right. */
  function wrongChange(job: Known, before: Home | undefined, after: Home): string | undefined {
    const change = `${before?.state ?? "nothing"} → ${after.state}`;
    if (isFinished(after) !== (after.expiresAt !== undefined) && !after.untracked)
      return `${change} with a wrong TTL`;
    if (after.state === "scheduled" && (after.token !== undefined || after.leaseEnd !== undefined))
      return `${change} with a claim`;
    // SQS may refuse the message of an untracked job for good. Otherwise its home is written once.
    if (before?.untracked && after.state !== "dead") return `${change} of an untracked job`;
    if (before && !remembers(before, after)) return `${change} without its Idempotency-Keys`;
    const judges = new Set(changesBetween(before, after).map((name) => memory[name]));
    let why = "which core/states.ts does not allow";
    for (const judge of judges) {
      const wrong = judge(job, before ?? after, after);
      if (wrong === undefined) return undefined;
      why = wrong;
    }
    return `${change}, ${why}`;
  }

  type Judge = (job: Known, before: Home, after: Home) => string | undefined;
  const nothing: Judge = () => undefined;
  const unless = (allows: (job: Known, before: Home, after: Home) => boolean, why: string): Judge => {
    return (...change) => (allows(...change) ? undefined : why);
  };
  const moved: Judge = (job, before, after) => {
    if (after.revision === before.revision) return undefined;
    const isAsked = after.wantedAt !== before.wantedAt || after.body !== before.body;
    if (isAsked && (after.askedAt ?? 0) < clock() - LATEST_WRITE - skew)
      return "and it does not say when it was asked for";
    const { postponeUntil = after.postponeUntil } = before;
    if ((after.postponeUntil ?? postponeUntil) !== postponeUntil) return "and its first bound moved";
    bulks.changed(before, after);
    if (isGivenBack(job, before, after)) return undefined;
    if (before.state === "dead") forgetRequests(before);
    if (before.state === "dead" || (job.callIds.has(job.restarts) && isOtherJob(before, after)))
      job.restarts += 1;
    return before.state === "running" ? endOf(job, before) : undefined;
  };
  /** What must have happened for each change: what the witness has seen of users, events, handlers and clocks. */
  const memory: Record<ChangeName, Judge> = {
    file: nothing,
    fileCancelled: unless((_, __, after) => tombstones.standsFor(after), "and no event has cancelled it"),
    move: moved,
    hold: (job, before, after) =>
      (after.heldUntil ?? 0) + latestStart + skew < clock()
        ? "to a start that had passed"
        : moved(job, before, after),
    keep: nothing,
    claim: unless((_, before, after) => after.attempt === before.attempt + 1, "and its attempt is wrong"),
    cancel: unless(isCancelled, "for no reason"),
    skip: unless((_, before) => isLate(before, "skip"), "too soon"),
    expire: unless((_, before) => isOverdue(before) || isLate(before, "expire"), "too soon"),
    giveUp: (job, _, after) => recorded(job, after),
    extend: nothing,
    askToCancel: unless(isCancelled, "cancelled for no reason"),
    keepRunning: nothing,
    finish: unless((job, _, after) => job.successes.has(wordsOf(after)), "but no handler succeeded"),
    retry: moved,
    moveCrashed: moved,
    cancelRun: (job, before) => {
      if (before.cancelAskedAt === undefined) return "and no event has cancelled it";
      return isGivenUp(job, before) ? undefined : endOf(job, before);
    },
    cancelCrashed: (job, before) => {
      if (!isCancelled(job, before)) return "for no reason";
      return released(before) ? undefined : "under a live lease";
    },
    die: (job, before, after) => endOf(job, before) ?? recorded(job, after),
    redrive: moved,
  };

  function countSend(job: Known, { revision, sentAt }: MessageJob): void {
    const made = `${revision} ${sentAt}`;
    job.sends += 1;
    if (job.madeAt.has(made)) job.givenBack += 1;
    job.madeAt.add(made);
  }

  /** Whether a claim that came too late for a run is given back, and so counts as no attempt. Then no run may start by this claim. */
  function isGivenBack(job: Known, before: Home, after: Home): boolean {
    const words = wordsOf(before);
    if (before.state !== "running" || job.starts.has(words)) return false;
    if (after.attempt !== before.attempt - 1 || after.askedAt !== before.askedAt) return false;
    job.starts.set(words, 1);
    return true;
  }

  /** Whether such a claim is given up because the job was cancelled in the meantime. No run of it may start after that. */
  function isGivenUp(job: Known, before: Home): boolean {
    const words = wordsOf(before);
    if (job.starts.has(words)) return false;
    job.starts.set(words, 1);
    return true;
  }

  /** When a job is redriven a day or more after it ended, repeats of its requests need not find it any more. */
  function forgetRequests({ id, finishedAt = 0 }: Home): void {
    if (finishedAt + DAY <= clock() + skew) repeats.forget(id);
  }

  /** Says why a run must not have ended: it may end only when its handler has ended, or after its lease. */
  function endOf(job: Known, before: Home): string | undefined {
    if (job.ends.has(wordsOf(before))) return undefined;
    if (!burns) return "an attempt was lost without a run";
    return released(before) ? undefined : "a run ended by somebody else";
  }

  /** Whether a call, a bulk or an event may have cancelled it. A request that lands late must not cancel a job that was moved since. */
  function isCancelled({ cancels, revisions }: Known, home: Home): boolean {
    const since = revisions[home.revision]?.since ?? 0;
    const isAsked = cancels.some(({ until }) => since <= until);
    const mayEvent = home.key !== undefined && tombstones.mayCancel(home);
    const due = revisions.map(({ dueAt }) => dueAt);
    return isAsked || bulks.mayCancel(home, due) || mayEvent;
  }

  function isOverdue({ wantedAt, expiresAfter = Number.POSITIVE_INFINITY }: Home): boolean {
    return clock() + skew > wantedAt + expiresAfter;
  }

  /** Whether a job is later than its topic's `ifLate` allows, counted from its last start, or from the end of its topic's last pause. */
  function isLate(home: Home, then: "skip" | "expire"): boolean {
    const { ifLate } = topics[home.topic] ?? {};
    const late = clock() + skew - Math.max(startsAt(home), pauses.lastEnd(home.topic) - skew);
    return ifLate?.do === then && late > ifLate.after * 1000;
  }

  /** Whether an untracked job, acknowledged or not, waits in the pool for its start. */
  function isToCome({ home, handedOff }: Known): boolean {
    return (
      home?.untracked === true &&
      home.state === "scheduled" &&
      handedOff.size === 0 &&
      startsAt(home) > clock()
    );
  }

  /** Says what is missing when a job becomes dead: it must be listed, and its envelope must be in the DLQ unless SQS refuses it. */
  function recorded(
    { envelopes, listed }: Known,
    { revision, body, finishedAt = 0 }: Home,
  ): string | undefined {
    if (!listed.has(finishedAt)) return "dead, but not listed";
    return envelopes.has(revision) || body.includes(settings.unwanted)
      ? undefined
      : "dead without an envelope";
  }

  /** Whether a lease has ended by every clock. */
  function released({ leaseEnd = 0 }: Home): boolean {
    return clock() + skew >= leaseEnd + CLOCK_MARGIN;
  }

  /** Whether a job has been dead for so long that its DLQ keeps no letter any more. */
  function isForgotten({ finishedAt = 0 }: Home): boolean {
    return finishedAt + DEAD_RETENTION <= clock() + skew;
  }

  /** Whether a job ended a day ago or earlier, so that a repeat of its request need not find it. */
  function isOnceOver(id: string): boolean {
    const end = known(id).home?.finishedAt;
    return end !== undefined && end + DAY <= clock() + skew;
  }

  /** Whether ticks have missed an untracked job for so long that it may be lost (docs/reference/tracking.md). */
  function isOutlived(home: Home): boolean {
    const swept = sweeps.get(addressOf(home.id).shard);
    const start = startsAt(home);
    return swept !== undefined && timeOf(swept) <= start && start + UNTRACKED_OUTAGE <= clock() + skew;
  }

  /** Whether the audit is so far behind that TTL may have deleted the job's once item (docs/internals/decisions/once-items.md). */
  function isAuditOut(id: string): boolean {
    const audit = audits.get(addressOf(id).shard);
    return audit !== undefined && timeOf(audit) + 2 * DAY <= clock() + skew;
  }

  /** Checks the invariant on which everything rests (docs/internals/overview.md): the audit never passes a job's last look. */
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
    repeats,
    tombstones,
    bulks,
    written(before: Row | undefined, after: Row | undefined): void {
      const row = (after ?? before) as Row;
      if (row.id && row.state) {
        const isWaiting = before && after?.state?.S === "scheduled";
        const isHeld = isWaiting && after.heldUntil && after.heldUntil.N !== before.heldUntil?.N;
        if (isHeld && !parkedRevisions.has(`${row.id.S} ${row.revision?.N}`)) held++;
        homeWritten(before && homeOf(before), after && homeOf(after));
      } else if (row.sk?.S?.endsWith("#look")) {
        const { looks } = known(row.id?.S ?? "");
        if (after && Number(after.expiresAt?.N) * 1000 < timeOf(row.sk.S) + OUTAGE)
          violate("P1", row.id?.S ?? "", `a look that an outage outlasts: ${JSON.stringify(after)}`);
        if (after) looks.add(row.sk.S);
        else looks.delete(row.sk.S);
      } else if (row.pk?.S?.startsWith("pause#")) {
        if (before?.state?.S === "resuming" && before.rate) pauses.paced(row.pk.S.slice("pause#".length));
      } else if (row.pk?.S === LIMITED_TOPICS || row.pk?.S === PAUSED_TOPICS) {
        tendedTopics.add(`${row.pk.S} ${row.sk?.S}`);
      } else if (row.pk?.S?.startsWith("paused#")) {
        if (!before) parked++;
        parkedRevisions.add(`${row.id?.S} ${row.revision?.N}`);
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
        const ids = (item: Row | undefined) =>
          item?.seed ? sharedJobs(fromAttributes(item) as SharedOnceItem).map((job) => job?.id) : [];
        const namedBefore = new Set(ids(before));
        for (const id of ids(after)) if (id !== undefined && !namedBefore.has(id)) known(id).finds += 1;
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

    /** An answer promises that the job will run as it says. `request`: an `Idempotency-Key`, whose calls must all name one job. */
    acknowledged(told: Told, request: string | undefined): void {
      const job = known(told.id);
      if (!job.home && !untracked.has(told.topic))
        violate("P1", told.id, "acknowledged, but not in the pool");
      job.acknowledged = true;
      if (told.outcome === "kept" || told.outcome === "replayed") job.finds += 1;
      if (request !== undefined) repeats.answered(told, request);
    },

    /** A call gave the job the values that it asked for. `hasToken`: others may have changed the job between the call and its repeat. */
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

    /** An answer says that from now on only this revision, or a later one, may start. */
    moved(told: Told): void {
      const job = known(told.id);
      job.oldest = Math.max(job.oldest, told.revision);
      if (job.home && job.home.revision < told.revision)
        violate("P1", told.id, `revision ${told.revision} was told`);
    },

    /** A call with a token will give a job this body. No other call has the same body. */
    gives(body: unknown): void {
      givenOnce.add(JSON.stringify(body));
    },

    /** A user calls to cancel a job. Answers a callback for the end of that call, whether it is answered or not. */
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
     * SQS accepted a message with these jobs. `isAnswered`: if not, the sender sends it again. `knowsTopic`: if not, the sender knows no
     * window, and a puller may still send single jobs of the message later.
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
        // The message of a crashed run only makes a consumer settle the run.
        const isToRun = home?.state === "scheduled" && home.revision === job.revision;
        const begins = Math.max(start, Date.parse(job.sentAt ?? job.dueAt));
        const sent = `${job.id} ${job.revision} ${begins}`;
        if (!knowsTopic) sentUnknowing.add(sent);
        const isHeld = isToRun && !sentUnknowing.has(sent);
        if (isHeld && !windows.wasOpen(topic, begins - longestSend, begins))
          violate("window", job.id, `handed over to start at ${begins}, out of its window`);
        // An untracked job that is due soon is never stored, so only its message shows that it was filed.
        recurring.created(job.id, JSON.stringify(job.body), !untracked.has(topic));
        for (const name of [`revision ${job.revision}`, `due ${Date.parse(job.dueAt)}`]) {
          const { from, to } = handedOff.get(name) ?? { from: start, to: start };
          handedOff.set(name, { from: Math.min(from, start), to: Math.max(to, start) });
        }
      }
      messages += carried.length;
      limits.sent(topic, carried, visibleAt);
      // A slow sender may send a start that the job's home does not have any more.
      const asNoted = carried.filter(({ id, ...job }) => {
        const { home } = known(id);
        return home ? startOf(job) === (home.heldUntil ?? startOf(job)) : weather === "calm";
      });
      for (const { id, heldUntil } of limits.startedAnew(topic, asNoted))
        violate("P6", id, `given a second start of its limit, at ${heldUntil}, while the first is ahead`);
    },

    /** Counts for the budget: revisions (also of untracked jobs that were never stored), sends, parked jobs, and runs by functions. */
    sent: () => ({
      revisions: revisionsOfAll(),
      messages,
      parked,
      held,
      runs: runsByFunctions,
      tendedTopics: tendedTopics.size,
    }),

    /** How many dead letters the code sent to a DLQ. SQS itself may have moved more messages there. */
    lettersTo: (queue: string): number => letters.get(queue) ?? 0,

    enveloped(queue: string, id: string, revision: number): void {
      known(id).envelopes.add(revision);
      letters.set(queue, (letters.get(queue) ?? 0) + 1);
    },

    /** A tick died, failed, or ran at the same time as another tick. Its messages may be sent again. */
    repeated(): void {
      repeatedTicks += 1;
    },

    /** A fault destroyed a dead job's envelope, which SQS's own redrive had moved to a ready queue. */
    destroyed(id: string, revision: number): void {
      known(id).destroyed.add(revision);
    },

    /** A handler runs a job until the callback. Two must not run it at once, because a function is killed before its lease ends. */
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

    overspent: (text: string): void => violate("P6", "", text),

    /** A handler starts a job. `now`: the time by its machine's clock. */
    started(run: Run, now: number): void {
      const job = known(run.id);
      pauses.started(run.topic);
      // Only SQS knows when an untracked job that asked for a retry is due again, so its later runs are not judged.
      const again = untracked.has(run.topic) && job.starts.size > 0;
      // The run of an untracked job does not say its revision, so the due time finds its messages.
      const name = untracked.has(run.topic) ? `due ${run.dueAt}` : `revision ${job.home?.revision}`;
      // A postponed job may keep a start that has just passed: then its message of the revision before runs it.
      const kept = Math.max(run.dueAt, job.home?.heldUntil ?? 0);
      const { from, to } = job.handedOff.get(name) ?? { from: run.dueAt, to: kept };
      const late = clock() - windows.opensAt(run.topic, pauses.freeAt(run.topic, to));
      job.startedAt ??= clock();
      // SQS refused the messages of a revision with such a text. If the job is changed later, another message can start it late.
      const isRefused = job.revisions.some(({ body }) => body.includes(settings.unwanted));
      if (!again && !isRefused) lateness.push(late);
      if (topics[run.topic]?.consumer !== "pull") runsByFunctions += 1;
      // Releases give the starts of a limit, and those of a resume with a rate.
      const isReleased =
        topics[run.topic]?.maxPerSecond !== undefined || (to > run.dueAt && pauses.disturb(run.topic));
      const most = Math.max(latest(run.id), isReleased && weather === "one fault" ? TICK_MISSED : 0);
      if (!again && late > most && !isRefused && !bulks.isMark(run.dueAt))
        violate("P3", run.id, `started ${late} ms late`);
      limits.ran(run.topic);
      if (!again) limits.started({ id: run.id, topic: run.topic, dueAt: run.dueAt, start: to });
      if (now < from) violate("P2", run.id, `started ${from - now} ms early`);
      const { ifLate } = topics[run.topic] ?? {};
      if (ifLate && late > ifLate.after * 1000 + LONGEST_CLAIM + skew)
        violate("ifLate", run.id, `ran ${late} ms late`);
      const after = pauses.tooLate(run.topic);
      if (after !== undefined)
        violate("pause", run.id, `started ${after} ms after its topic had to be quiet`);
      if (untracked.has(run.topic)) {
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

    startedAt: (id: string): number | undefined => known(id).startedAt,

    /** When a topic's job that would start at `time` may start at the latest, given the topic's pauses and its window. */
    freeAt: (topic: string, time: number): number => windows.opensAt(topic, pauses.freeAt(topic, time)),

    punctual: (id: string, text: string): void => violate("P3", id, text),

    topicOf: (id: string): string => jobs.get(id)?.home?.topic ?? "",

    dueAt: (id: string): number => known(id).home?.dueAt ?? 0,

    /** A receiver is called. All attempts must have the same `webhook-id`, and each redrive a new one. */
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

    ended(run: Run, well: boolean): void {
      const job = known(run.id);
      job.ends.add(wordsOf(run));
      if (well) job.successes.add(wordsOf(run));
    },

    /** Something happened that no fault excuses. */
    defect: (text: string): void => violate("defect", "", text),

    /** An item that nothing will ever delete. */
    rubbish: (id: string, pk: string): void => violate("rubbish", id, `${pk} stays for ever`),

    count: () => jobs.size,

    /** The ids of jobs that have not ended. `mayLose`: whether messages that SQS accepted can be lost. */
    unfinished: (mayLose: boolean): string[] =>
      [...jobs].flatMap(([id, job]) =>
        isOpen(job) || isToCome(job) || !cameUntracked(job, mayLose) ? [id] : [],
      ),

    /** Called long after all faults: reports promises that were not kept. `lies`: whether a dead job's envelope is in its DLQ. */
    judge(mayLose: boolean, lies: (dead: Home) => boolean): void {
      recurring.judge();
      for (const [id, { sends, givenBack, waited, finds, revisions, starts }] of jobs) {
        // The runs of an untracked job have no revisions, so each run counts as one.
        const counted = Math.max(revisions.length, 1) + (starts.get("") ?? 0);
        // A repeated message may be a pack that a puller splits, which causes one more send.
        const repeats = Math.min(repeatedTicks, SENDS_BY_OVERLAP);
        // An audit that can file no look at a job that it has sent comes to the same place again, each minute.
        const audits = Math.ceil(unwritten / BUCKET);
        const again = repeats + Math.min(repeats, givenBack) + audits;
        const more = Math.max(MORE_SENDS, sendsWhileWaiting(waited));
        const most = SENDS_A_REVISION * counted + more + finds + again;
        if (sends > most)
          violate(
            "P6",
            id,
            `${sends} messages for ${revisions.length} revisions, at most ${most} are allowed`,
          );
      }
      // The rate of a resume holds jobs too, so topics that were ever paused are not judged. With faults, an outage may last long.
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

/** The due times that a postponing call allows: those that it asked for, but none after the bound of the key's first request. */
function boundedBy({ revisions }: Known, { outcome, revision }: Told, asked: Asked): Asked {
  const { from = 0, to = 0, postponing } = asked;
  if (!postponing) return asked;
  const { maxDelay } = postponing;
  const { postponeUntil, askedAt = 0 } = revisions[revision - 1] ?? {};
  const first = postponeUntil ?? askedAt + maxDelay;
  const kept = outcome === "postponed" ? first : undefined;
  const most = { from: kept ?? postponing.from + maxDelay, to: kept ?? postponing.to + maxDelay };
  // A time in the past becomes the present time.
  return {
    ...asked,
    from: Math.min(from, most.from),
    to: Math.max(Math.min(to, most.to), postponing.to),
  };
}

function isOtherJob(before: Home, after: Home): boolean {
  return before.body !== after.body || !isDeepStrictEqual(keptOptionsOf(before), keptOptionsOf(after));
}

/** Whether a home names the same once items, none for a shorter time. A call that finds a job by its key may replace the oldest of ten. */
function remembers(before: Home, after: Home): boolean {
  const [known, notes] = [onceNotesOf(before.once), onceNotesOf(after.once)];
  const added = after.key === undefined ? [] : notes.slice(-1);
  return [known, [...known, ...added].slice(-KNOWN_CALLS)].some(
    (wanted) =>
      wanted.length === notes.length &&
      wanted.every(({ token, expiresAt }, i) => token === notes[i]?.token && expiresAt <= notes[i].expiresAt),
  );
}

function shardOf({ pk }: Row): number {
  return Number(pk?.S?.slice("cursor#".length));
}

function isOpen({ home }: Known): boolean {
  return home !== undefined && !home.untracked && !isFinished(home);
}

/** Whether an untracked job was sent to SQS and has run. If messages can be lost, it need not have run. */
function cameUntracked(
  { home, acknowledged, handedOff, outlived, starts }: Known,
  mayLose: boolean,
): boolean {
  if (!acknowledged || outlived || (home && (!home.untracked || isFinished(home)))) return true;
  return handedOff.size > 0 && (mayLose || starts.size > 0);
}
