import type { EventRule } from "../../core/event-rules.ts";
import { isFinished } from "../../core/home.ts";
import type { Home, Tombstone } from "../../core/items.ts";

/** An event that somebody puts on the bus, and what its topic's rule makes of it. `at`: ms since the epoch. */
export type SentEvent = { id: string; at: number; key: string; rule: EventRule };

/** A field of the body of each job that an event files: the event's id. */
export const EVENT = "event";

type Job = {
  filedAt: number;
  createdAt: number;
  /** When the latest event happened that has filed or replaced it. */
  eventAt: number;
  state: Home["state"];
  /** It runs, and an event has cancelled it: it may end, and not run again. */
  isAsked: boolean;
  finishedAt: number;
  endedAt: number;
  revivedAt: number;
};
/** `to`: when the last of its requests has taken effect, if it may. */
type Invocation = { event: SentEvent; from: number; to: number };
type Key = {
  jobs: Map<string, Job>;
  invocations: Invocation[];
  /** Spans in which no job of the key may be filed alive. */
  inForce: { from: number; until: number }[];
  tombstone: Tombstone | undefined;
};

/** Till a request of an invocation that is over takes effect or is too old. ms. */
const LANDS_WITHIN = 360_000;

/**
 * Judges what events do to the jobs of their keys. `calm`: no request takes effect after its function has ended.
 * `broken`: told of what must not be.
 */
export function tombstonesOf(settings: {
  clock: () => number;
  /** ms that clocks may be off. */
  skew: number;
  calm: boolean;
  broken: (id: string, text: string) => void;
}) {
  const { clock, skew, calm, broken } = settings;
  const keys = new Map<string, Key>();
  const filedBy = new Map<string, Set<string>>();
  const seen = new Set<string>();
  const of = (topic: string, key: string): Key => {
    const found = keys.get(`${topic}#${key}`);
    if (found) return found;
    const fresh: Key = { jobs: new Map(), invocations: [], inForce: [], tombstone: undefined };
    keys.set(`${topic}#${key}`, fresh);
    return fresh;
  };
  const ofEvent = ({ rule, key }: SentEvent): Key => of(rule.topic, key);
  const inEffect = ({ invocations }: Key): Invocation[] =>
    invocations.filter(({ event, to }) => event.rule.do === "cancel" && to >= clock());
  const isLive = ({ state }: Job): boolean => state === "scheduled" || state === "running";
  /** Whether a job of the key has ended since an event: it did its work then, or came too late for it. */
  const isDone = ({ jobs }: Key, at: number): boolean =>
    [...jobs.values()].some((job) => !isLive(job) && job.finishedAt >= at);

  function created(key: Key, home: Home): void {
    const event = markOf(home);
    if (event !== undefined) {
      const ids = filedBy.get(event) ?? new Set();
      filedBy.set(event, ids.add(home.id));
      if (ids.size > 1) broken(home.id, `event ${event} filed ${ids.size} jobs`);
    }
    const rule = key.inForce.find(({ from, until }) => from < clock() && clock() < until - 2 * skew);
    if (rule && !isFinished(home))
      broken(home.id, `filed alive at ${clock()} under a tombstone till ${rule.until}`);
  }

  return {
    /** A keyed job's home changes. */
    filed(before: Home | undefined, after: Home | undefined): void {
      const { id, topic, key: name = "" } = (after ?? before) as Home;
      const key = of(topic, name);
      if (!after) return void key.jobs.delete(id);
      if (!before) created(key, after);
      const known = key.jobs.get(id) ?? { filedAt: clock(), endedAt: 0, revivedAt: 0 };
      const ended = isFinished(after) && !(before && isFinished(before));
      const revived = before?.state === "dead" && !isFinished(after);
      key.jobs.set(id, {
        ...known,
        createdAt: after.createdAt,
        eventAt: Math.max(after.eventAt ?? 0, key.jobs.get(id)?.eventAt ?? 0),
        state: after.state,
        isAsked: isAsked(after),
        finishedAt: after.finishedAt ?? 0,
        ...(ended && { endedAt: clock() }),
        ...(revived && { revivedAt: clock() }),
      } as Job);
      // A user's change begins its attempts anew, once the run's lease is over.
      const repeated = before && isAsked(before) && after.state === "scheduled";
      if (repeated && (after.attempt > 0 || clock() < (before.leaseEnd ?? 0)))
        broken(id, `to be run again though an event cancelled it at ${before.cancelAskedAt}`);
      const mark = markOf(after);
      if (mark !== undefined) seen.add(mark);
    },

    /** A tombstone is left, or goes. */
    left(before: Tombstone | undefined, after: Tombstone | undefined): void {
      const [, topic = "", ...rest] = ((after ?? before) as Tombstone).pk.split("#");
      const key = of(topic, rest.join("#"));
      key.tombstone = after;
      if (!after) return;
      const since = Math.min(...inEffect(key).map(({ from }) => from));
      const over = [...key.jobs].find(
        ([, job]) => !isLive(job) && job.finishedAt >= after.eventAt && job.endedAt < since,
      );
      if (over)
        broken(over[0], `a tombstone was left by an event that had done its work: ${JSON.stringify(after)}`);
    },

    /** Whether a job may be cancelled as it is filed. */
    standsFor({ topic, key, createdAt }: Home): boolean {
      return key !== undefined && (of(topic, key).tombstone?.until ?? 0) > createdAt;
    },

    /** Whether an event may be cancelling jobs of this key. */
    mayCancel: (topic: string, key: string): boolean => inEffect(of(topic, key)).length > 0,

    /** The function is given an event. Answers what to call when that is over, and whether it was applied. */
    began(event: SentEvent): (applied: boolean) => void {
      const key = ofEvent(event);
      const invocation = { event, from: clock(), to: Number.POSITIVE_INFINITY };
      key.invocations.push(invocation);
      return (applied) => {
        invocation.to = clock() + (calm ? 0 : LANDS_WITHIN);
        if (applied && event.rule.do === "cancel") cancelledBy(key, event, event.rule.tombstone, invocation);
        else if (applied) filedByEvent(key, event);
      };
    },
  };

  /** Nothing that was filed before waits any more, and nothing that is filed while the tombstone lives will run. */
  function cancelledBy(key: Key, { id, at }: SentEvent, tombstone: number, { from }: Invocation): void {
    const until = at + tombstone * 1000;
    if (isDone(key, at - 2 * skew)) return;
    const [live] = [...key.jobs].filter(([, job]) => isLive(job));
    const [name = "", job] = live ?? [];
    // One that it met running: it leaves no tombstone then.
    if (job?.isAsked) return;
    const isIts = job && job.createdAt <= until && job.filedAt < until - 2 * skew && job.revivedAt < from;
    if (isIts) broken(name, `alive at ${clock()} though event ${id} of ${at} was applied`);
    key.inForce.push({ from: clock(), until });
  }

  /** Its job is there, or another lived that was kept instead. */
  function filedByEvent(key: Key, { id, at, rule }: SentEvent): void {
    if (seen.has(id)) return;
    const first = key.invocations.find(({ event }) => event.id === id)?.from ?? 0;
    const keeps = (job: Job): boolean =>
      job.eventAt > at || (rule.do === "enqueue" && rule.onDuplicate === "keep");
    const kept = [...key.jobs.values()].some((job) => (isLive(job) || job.endedAt >= first) && keeps(job));
    if (!kept) broken("", `event ${id} was applied, and filed nothing`);
  }
}

function isAsked({ state, cancelAskedAt }: Home): boolean {
  return state === "running" && cancelAskedAt !== undefined;
}

function markOf({ body }: Home): string | undefined {
  const mark = (JSON.parse(body) as Record<string, unknown> | null)?.[EVENT];
  return typeof mark === "string" ? mark : undefined;
}
