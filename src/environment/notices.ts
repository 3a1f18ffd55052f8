import type { BusEntry, PutEvents } from "../aws/put-events.ts";
import { messageOf } from "../core/errors.ts";
import type { Home } from "../core/home.ts";
import { homeKey } from "../core/item-keys.ts";
import { isUnreadable, readHome } from "../core/readable.ts";
import { onFirstUse } from "../general/on-first-use.ts";
import { iso } from "../general/times.ts";
import type { Context, Timers } from "../protocol/ports.ts";
import type { ProtocolEvent } from "../protocol/reports.ts";
import { NOTICES, type NoticeDetail, type Notified, noticeSource } from "../settings/notices.ts";
import type { Environment } from "./context.ts";
import type { Telemetry } from "./telemetry.ts";

/**
 * Puts an event on the bus for each end of an attempt that a topic's `notify` names. The end is recorded before, and nothing waits for its event
 * but the end of the invocation, and that only shortly. So an event can be lost, and no job can: docs/guides/events.md says when.
 */
export type Notifier = {
  /** Waits for nothing, and never throws. */
  readonly note: (event: ProtocolEvent) => void;
  /** Waits until the noted events are put or given up, at most `FLUSH_PATIENCE`, and not later than `by`: ms since the epoch. */
  readonly flush: (by?: number) => Promise<void>;
};

/** "Sending events with PutEvents", EventBridge User Guide. Ten events of ours have less than 20 KB. */
const MOST_ENTRIES = 10;
/** How many ends may wait for their events. While EventBridge does not answer, memory must not grow. */
export const MOST_WAITING = 1000;
/** ms. */
const READ_PATIENCE = 1000;
export const FLUSH_PATIENCE = 3000;

type End = Extract<ProtocolEvent, { type: "done" | "failed" | "dead" }>;
type Noted = { readonly end: End; readonly as: Notified; readonly at: number };
type Needs = Pick<Context, "pool" | "clock" | "policy" | "report">;
type Bus = { readonly queue: string; readonly name: string; readonly put: PutEvents };

const ENDS: { readonly [T in ProtocolEvent["type"]]?: Notified } = {
  done: "completed",
  failed: "failed",
  dead: "dead",
} satisfies Record<End["type"], Notified>;

/** The context whose ends of attempts are put on the bus that the environment names. */
export function withNotices<C extends Context & { readonly telemetry: Telemetry }>(
  ctx: C,
  { queue, name, urlPrefix }: { queue: string; name: string; urlPrefix: string },
  timers: Timers,
  environment: Environment,
): C {
  const made = onFirstUse(async () => {
    const { eventBus } = await import("../aws/put-events.ts");
    return eventBus({ ...placeOf(urlPrefix, environment), wait: timers.wait });
  });
  const put: PutEvents = async (entries) => (await made())(entries);
  const notifier = createNotifier(ctx, { queue, name, put }, timers);
  const report = (event: ProtocolEvent): void => {
    ctx.report(event);
    notifier.note(event);
  };
  const flush: Telemetry["flush"] = async (by) => {
    await notifier.flush(by);
    await ctx.telemetry.flush();
  };
  return { ...ctx, report, telemetry: { ...ctx.telemetry, report, flush } };
}

/** EventBridge is where the queues are: `https://sqs.<region>.<suffix of the partition>/…`. */
function placeOf(urlPrefix: string, environment: Environment): { endpoint: string; region: string } {
  const [, region = environment.AWS_REGION ?? "us-east-1", suffix = "amazonaws.com"] =
    /^https:\/\/sqs\.([^./]+)\.([^/:]+)\//.exec(urlPrefix) ?? [];
  const { AWS_ENDPOINT_URL_EVENTBRIDGE: own, AWS_ENDPOINT_URL: all } = environment;
  return { endpoint: own || all || `https://events.${region}.${suffix}/`, region };
}

export function createNotifier(ctx: Needs, bus: Bus, timers: Timers): Notifier {
  // Ends that are noted together share a call, and so do those that are noted while an earlier call is under way.
  let open: Noted[] = [];
  let last = Promise.resolve();
  let waiting = 0;
  const begin = (): Noted[] => {
    const batch: Noted[] = [];
    last = last.then(async () => {
      if (open === batch) open = [];
      await putSome(ctx, bus, timers, batch);
      waiting -= batch.length;
    });
    return batch;
  };
  return {
    note(event) {
      const as = ENDS[event.type];
      if (as === undefined) return;
      const end = event as End;
      if (!ctx.policy.topics[end.topic]?.notify?.includes(as)) return;
      const noted = { end, as, at: ctx.clock() };
      if (waiting >= MOST_WAITING) return giveUp(ctx, [noted], "too many events wait for the event bus");
      if (open.length % MOST_ENTRIES === 0) open = begin();
      open.push(noted);
      waiting += 1;
    },
    async flush(by = Number.POSITIVE_INFINITY) {
      const patience = Math.min(FLUSH_PATIENCE, by - ctx.clock());
      // Not for events that other calls note meanwhile: a busy worker would never stop waiting.
      if (waiting > 0 && patience > 0) await within(timers, patience, last);
    },
  };
}

/** Never rejects: a trouble with events must not become one of the jobs. */
async function putSome(ctx: Needs, bus: Bus, timers: Timers, noted: readonly Noted[]): Promise<void> {
  try {
    const homes = (await within(timers, READ_PATIENCE, homesOf(ctx, noted))) ?? [];
    const failures = await bus.put(noted.map((one, i) => entryOf(bus, one, homes[i])));
    for (const [i, { end, as }] of noted.entries())
      if (failures[i] === undefined)
        ctx.report({ type: "notified", topic: end.topic, id: end.id, event: NOTICES[as] });
    const lost = noted.filter((_, i) => failures[i] !== undefined);
    giveUp(ctx, lost, failures.find((failure) => failure !== undefined) ?? "");
  } catch (error) {
    giveUp(ctx, noted, messageOf(error));
  }
}

function giveUp(ctx: Needs, lost: readonly Noted[], error: string): void {
  for (const [topic, some] of Map.groupBy(lost, ({ end }) => end.topic))
    ctx.report({ type: "not-notified", topic, jobs: some.length, id: some[0]?.end.id ?? "", error });
}

/** Empty if they cannot be read: an event without a key is better than none. */
async function homesOf({ pool }: Needs, noted: readonly Noted[]): Promise<(Home | undefined)[]> {
  const ids = [...new Set(noted.map(({ end }) => end.id))];
  try {
    const items = await pool.read(ids.map(homeKey));
    const homes = new Map(ids.map((id, i) => [id, items[i] && readHome(items[i], id)]));
    return noted.map(({ end }) => {
      const home = homes.get(end.id);
      return isUnreadable(home) ? undefined : home;
    });
  } catch {
    return [];
  }
}

function entryOf({ queue, name }: Bus, { end, as, at }: Noted, home: Home | undefined): BusEntry {
  const detail: NoticeDetail = {
    version: 1,
    id: end.id,
    topic: end.topic,
    attempt: end.attempt,
    endedAt: iso(at),
    ...("error" in end && { error: end.error }),
    ...(home && fromHome(home, end)),
  };
  return {
    EventBusName: name,
    Source: noticeSource(queue, end.topic),
    DetailType: NOTICES[as],
    Detail: JSON.stringify(detail),
    Time: Math.floor(at / 1000),
  };
}

function fromHome(home: Home, { type, attempt }: End): Partial<NoticeDetail> {
  const { key, tag, group, createdAt, dueAt, state } = home;
  // A caller may have moved or redriven the job since, or it may have run again. Then its time is not that of this attempt.
  const isSame = home.attempt === attempt && state === STATES[type];
  return {
    ...(key !== undefined && { key }),
    ...(tag !== undefined && { tag }),
    ...(group !== undefined && { group }),
    createdAt: iso(createdAt),
    ...(isSame && { [type === "failed" ? "retryAt" : "dueAt"]: iso(dueAt) }),
  };
}

/** The state of the job after the end. */
const STATES = { done: "done", failed: "scheduled", dead: "dead" } as const satisfies Record<
  End["type"],
  Home["state"]
>;

/** `undefined` if `promise` takes longer than `ms`. */
async function within<T>(timers: Timers, ms: number, promise: Promise<T>): Promise<T | undefined> {
  const late = Promise.withResolvers<undefined>();
  const cancel = timers.after(ms, () => late.resolve(undefined));
  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    cancel();
  }
}
