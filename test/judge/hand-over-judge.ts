import { MARK_AFTER } from "../../src/core/constants.ts";
import type { Home } from "../../src/core/home.ts";
import { parseMessage } from "../../src/core/message.ts";
import type { Plan } from "./hand-over.ts";
import { CALM } from "./weather.ts";
import { MINUTE, SECOND, SKEW, type World } from "./world.ts";

type Job = { readonly topic: string; readonly dueAt: number; isChanged: boolean };
type Messages = { count: number; visibleAt: number };

/** SQS delays a message by whole seconds, and the clock of a tick may be off. */
const LATE = 2 * SECOND + SKEW;
/**
 * The jobs of an outage are late, and perhaps those of the next minutes: with pages of one entry, a tick hands over thirty jobs a minute,
 * twelve new ones arrive, and the outage has left two hundred.
 */
const AFTER_OUTAGE = 10 * MINUTE;

/** What the judge knows. `messages`: by id and revision. `running`: how many ticks and parts run now. */
type Known = {
  readonly jobs: Map<string, Job>;
  readonly messages: Map<string, Messages>;
  readonly states: Map<string, Home["state"]>;
  running: number;
  overlaps: number;
};

/** Judges the hand-over: each job gets a message, in time, and few jobs get a second one. */
export function judgeHandOver(world: World, plan: Plan) {
  const jobs = new Map<string, Job>();
  const known: Known = { jobs, messages: new Map(), states: new Map(), running: 0, overlaps: 0 };
  watchQueues(world, known);
  world.onHome.push(({ id, state }) => void known.states.set(id, state));
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
      if (known.running > 0) known.overlaps += 1;
      known.running += 1;
      return () => {
        known.running -= 1;
      };
    },
    tracked: () => [...jobs].filter(([, { topic }]) => topic !== "pings").map(([id]) => id),
    atEnd(): void {
      for (const [id, job] of jobs) judgeJob(world, plan, known, { id, ...job });
      judgeSurplus(world, plan, known);
    },
  };
}

function watchQueues({ queues, timeline, say }: World, { messages }: Known): void {
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
        say(`sent ${id} ${revision} to be visible at ${new Date(visibleAt).toISOString()}`);
      }
    }
    return outcomes;
  };
}

type Filed = Job & { readonly id: string };

function judgeJob({ accuse }: World, plan: Plan, { messages, states }: Known, job: Filed): void {
  const { id, topic, dueAt, isChanged } = job;
  const state = states.get(id) ?? "unknown";
  const first = messages.get(`${id} 0`);
  if (topic === "pings" && !first) accuse(`untracked ${id} was never sent`);
  if (topic !== "pings" && state !== "done" && !(isChanged && state === "cancelled"))
    accuse(`${id} has not run: it is ${state}, due ${new Date(dueAt).toISOString()}`);
  if (plan.weather !== CALM || isChanged || !first || isExcused(plan, dueAt)) return;
  const late = first.visibleAt - dueAt;
  if (late > LATE) accuse(`${id} of ${topic} is ${late / SECOND} s late`);
}

function isExcused({ outage: { from, to } }: Plan, dueAt: number): boolean {
  return to > from && dueAt >= from && dueAt < to + AFTER_OUTAGE;
}

function judgeSurplus({ say, accuse }: World, plan: Plan, { jobs, messages, overlaps }: Known): void {
  const unchanged = [...jobs].filter(([, { isChanged }]) => !isChanged);
  const surplus = unchanged.reduce((sum, [id]) => sum + (messages.get(`${id} 0`)?.count ?? 1) - 1, 0);
  const most = overlaps * surplusOf(plan);
  say(`${surplus} surplus messages, at most ${most} for ${overlaps} overlaps`);
  if (plan.weather === CALM && surplus > most)
    accuse(`${surplus} surplus messages, ${overlaps} overlaps allow at most ${most}`);
}

/** What one overlap sends twice: of each shard, what a sweep hands over before it writes its cursor, and its page in hand. */
function surplusOf({ sizes, latency, shards }: Plan): number {
  const pages = Math.ceil(MARK_AFTER / latency);
  return shards * (Math.min(sizes.mark, pages * sizes.page) + sizes.page);
}
