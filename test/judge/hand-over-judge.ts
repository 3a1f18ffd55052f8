import { MARK_AFTER } from "../../core/constants.ts";
import type { Home } from "../../core/items.ts";
import { parseMessage } from "../../core/message.ts";
import type { Plan } from "./hand-over.ts";
import { CALM } from "./weather.ts";
import { MINUTE, SECOND, SKEW, type World } from "./world.ts";

type Job = { readonly topic: string; readonly dueAt: number; isChanged: boolean };
/** The messages of one revision of a job. `visibleAt`: when the first of them can be received. */
type Messages = { count: number; visibleAt: number };

/** SQS delays a message by whole seconds, and the clock of a tick may be off. */
const LATE = 2 * SECOND + SKEW;
/**
 * The jobs that fall due in an outage are late, and perhaps those of the next minutes: the first sweeps have them all to send. With pages
 * of one entry, a tick hands over thirty jobs a minute, twelve new ones arrive, and the outage has left two hundred.
 */
const AFTER_OUTAGE = 10 * MINUTE;

/** Judges the hand-over: each job gets a message, in time, and few jobs get a second one. */
export function judgeHandOver(world: World, plan: Plan) {
  const { accuse, queues, timeline } = world;
  const jobs = new Map<string, Job>();
  const messages = new Map<string, Messages>();
  const states = new Map<string, Home["state"]>();
  let [running, overlaps] = [0, 0];

  const send = queues.send;
  queues.send = async (queue, some) => {
    const outcomes = await send(queue, some);
    for (const [i, { body, delaySeconds }] of some.entries()) {
      if (outcomes[i]?.outcome !== "sent") continue;
      for (const { id, revision } of parseMessage(body)?.jobs ?? []) {
        const visibleAt = timeline.now() + delaySeconds * SECOND;
        const before = messages.get(`${id} ${revision}`);
        messages.set(`${id} ${revision}`, {
          count: (before?.count ?? 0) + 1,
          visibleAt: Math.min(before?.visibleAt ?? visibleAt, visibleAt),
        });
        world.say(`sent ${id} ${revision} to be visible at ${new Date(visibleAt).toISOString()}`);
      }
    }
    return outcomes;
  };
  world.onHome.push(({ id, state }) => void states.set(id, state));

  const isExcused = (dueAt: number): boolean => {
    const { from, to } = plan.outage;
    return to > from && dueAt >= from && dueAt < to + AFTER_OUTAGE;
  };
  const judgeTimes = (id: string, { dueAt, topic }: Job): void => {
    const { visibleAt } = messages.get(`${id} 0`) ?? {};
    if (visibleAt === undefined || isExcused(dueAt)) return;
    if (visibleAt > dueAt + LATE) accuse(`${id} of ${topic} is ${(visibleAt - dueAt) / SECOND} s late`);
  };

  return {
    filed: (id: string, topic: string, dueAt: number) =>
      void jobs.set(id, { topic, dueAt, isChanged: false }),
    /** Says that a caller has changed this job, or that SQS has lost its message. */
    changed(id: string): void {
      const job = jobs.get(id);
      if (job) job.isChanged = true;
    },
    isChanged: (id: string) => jobs.get(id)?.isChanged ?? false,
    /** Says that a tick or a further invocation begins. The answered function says that it has ended. */
    began(): () => void {
      if (running > 0) overlaps += 1;
      running += 1;
      return () => {
        running -= 1;
      };
    },
    /** The ids of the tracked jobs. */
    tracked: () => [...jobs].filter(([, { topic }]) => topic !== "pings").map(([id]) => id),
    atEnd(): void {
      for (const [id, job] of jobs) {
        const state = states.get(id) ?? "unknown";
        if (job.topic === "pings" && !messages.has(`${id} 0`)) accuse(`untracked ${id} was never sent`);
        if (job.topic !== "pings" && state !== "done" && !(job.isChanged && state === "cancelled"))
          accuse(`${id} has not run: it is ${state}, due ${new Date(job.dueAt).toISOString()}`);
        if (plan.weather === CALM && !job.isChanged) judgeTimes(id, job);
      }
      const unchanged = [...jobs].filter(([, { isChanged }]) => !isChanged);
      const surplus = unchanged.reduce((sum, [id]) => sum + (messages.get(`${id} 0`)?.count ?? 1) - 1, 0);
      const most = overlaps * surplusOf(plan);
      world.say(`${surplus} surplus messages, at most ${most} for ${overlaps} overlaps`);
      if (plan.weather === CALM && surplus > most)
        accuse(`${surplus} surplus messages, ${overlaps} overlaps allow at most ${most}`);
    },
  };
}

/**
 * How many messages one overlap may send twice: of each shard, what a sweep hands over before it writes its cursor, and the page that it
 * has in hand.
 */
function surplusOf({ sizes, latency, shards }: Plan): number {
  const pages = Math.ceil(MARK_AFTER / latency);
  return shards * (Math.min(sizes.mark, pages * sizes.page) + sizes.page);
}
