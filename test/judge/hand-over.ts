import { parseMessage } from "../../src/core/message.ts";
import type { TickPart } from "../../src/core/tick-part.ts";
import { SIZES, type Sizes } from "../../src/core/work-sizes.ts";
import { sweepPart, tick } from "../../src/protocol/hand-over/tick.ts";
import type { Sweepers } from "../../src/protocol/ports.ts";
import { type Draws, drawsOf } from "../sim/draws.ts";
import { judgeHandOver } from "./hand-over-judge.ts";
import { startPullers } from "./pullers.ts";
import { TICK_TIME } from "./ticks.ts";
import { CALM, drawWeather } from "./weather.ts";
import {
  createWorld,
  type History,
  HOUR,
  MINUTE,
  type Process,
  SECOND,
  START,
  TOPICS,
  type World,
} from "./world.ts";

/** When the first job is due that a tick must send. */
const BUSY_FROM = START + 6 * MINUTE;
/** How long all is calm before the end. The audit looks twice at each job. */
const CALM_FOR = 40 * MINUTE;
/** What Lambda does with the event of a further invocation. */
const FATES = ["runs", "never", "twice", "late", "refused"] as const;

/** What a history has of work and of trouble. Times are ms. */
export type Plan = ReturnType<typeof planOf>;
type Stage = { readonly world: World; readonly plan: Plan; readonly judge: ReturnType<typeof judgeHandOver> };

// long: the list of what is drawn, in its order
function planOf(draws: Draws) {
  const gap = draws.chance(0.35) ? draws.pick([5, 15, 28]) * MINUTE : 0;
  const from = BUSY_FROM + draws.whole(1, 5) * MINUTE;
  const jobsAMinute = draws.pick(gap > 5 * MINUTE ? [6, 12] : [5, 12, 25]);
  const page = draws.pick(gap > 5 * MINUTE ? [1, 1, 2] : [1, 2, 5]);
  // `shards` is 2 at least: if a tick swept one shard at a time, the new jobs of the others would wait for the first one's overdue jobs.
  const small = {
    ...{ page, mark: draws.pick([page, 4 * page, SIZES.mark]), alone: draws.pick([500, 2_000, 5_000]) },
    ...{ minutes: draws.pick([1, 4, 16]), shards: draws.pick([2, 2, 8]), looks: draws.pick([1, 5, 50]) },
  };
  // A sweep reads and sends each page, and writes its cursor after some pages. After an outage, a slow audit lasts longer than a minute.
  const work = draws.pick(gap > 5 * MINUTE ? [5, 12, 12] : [1, 5, 12]) * SECOND;
  const latency = (work * page) / (3 * jobsAMinute);
  return {
    jobsAMinute,
    // A size that the code does not have stays out.
    sizes: {
      ...SIZES,
      ...Object.fromEntries(Object.entries(small).filter(([name]) => name in SIZES)),
    } as Sizes,
    shards: draws.pick([1, 1, 2, 4]),
    /** How long a call of a tick takes each way. In some histories a tick sweeps for several seconds. */
    latency: Math.round(Math.min(Math.max(latency, 20), 400)),
    weather: draws.chance(0.25) ? drawWeather(draws) : CALM,
    /** No tick runs from `from` to `to`. */
    outage: { from, to: from + gap },
    busyUntil: from + gap + draws.whole(5, 10) * MINUTE,
    /** How late a tick begins at most, and how often it is doubled. */
    lateTick: draws.pick([1, 1, 50]) * SECOND,
    doubled: draws.pick([0, 0, 0.2]),
    fates: draws.pick<readonly (typeof FATES)[number][]>([
      [],
      ["runs"],
      ["never"],
      ["runs", "twice"],
      ["late"],
      FATES,
    ]),
    most: draws.pick([1, 3, 7, 63]),
  };
}

/** A busy queue, whose ticks come late, twice, or not for half an hour, and whose further invocations run or do not run. */
export async function playHandOver(seed: number, isTraced: boolean): Promise<History> {
  const draws = drawsOf(seed, "hand-over");
  const plan = planOf(draws);
  const { shards, weather, busyUntil, outage } = plan;
  // If a job cannot be sent, the next look at it comes after about as long as the job is late already.
  const end = busyUntil + CALM_FOR + (weather === CALM ? 0 : 2 * (outage.to - outage.from));
  const topics = { pings: { consumer: "pull", tracking: "none" } } as const;
  const world = createWorld({ seed, isTraced, draws, shards, topics, weather, calmFrom: busyUntil });
  world.say(JSON.stringify(plan));
  const stage: Stage = { world, plan, judge: judgeHandOver(world, plan) };
  const calmly = (): Process => world.spawn({ isCalm: true });
  // Pullers have no trouble here.
  startPullers({ ...world, isCalm: () => true, spawn: calmly }, end);
  startTicks(stage, end);
  world.timeline.at(START + SECOND, () => void fileJobs(stage));
  world.plan(draws.whole(0, 10), START + MINUTE, busyUntil, () => changeOne(stage));
  // After an outage the queues are full, and an audit takes a lost message for one that waits there.
  const losses = plan.outage.to > plan.outage.from ? 0 : draws.pick([0, 0, 3]);
  world.plan(losses, BUSY_FROM, busyUntil, () => loseOne(stage));
  await world.timeline.run(end, () => false);
  stage.judge.atEnd();
  return world.history();
}

async function fileJobs({ world, plan, judge }: Stage): Promise<void> {
  const { draws, accuse } = world;
  const { ask } = world.spawn({ isCalm: true });
  const { busyUntil, jobsAMinute } = plan;
  const length = Math.round(((busyUntil - BUSY_FROM) / MINUTE) * jobsAMinute);
  const jobs = Array.from({ length }, (_, body) => {
    const dueAt = new Date(draws.whole(BUSY_FROM, busyUntil)).toISOString();
    return { topic: draws.pick([...TOPICS, "pings"]), body, dueAt };
  });
  while (jobs.length > 0) {
    const { json } = await ask("POST", "/jobs/batch", { jobs: jobs.splice(0, 100) });
    for (const { job } of json.results as { job?: { id: string; topic: string; dueAt: string } }[])
      if (job) judge.filed(job.id, job.topic, Date.parse(job.dueAt));
      else accuse("a job was not filed in calm weather");
  }
}

function changeOne({ world: { draws, spawn }, judge }: Stage): void {
  const id = draws.pick(judge.tracked());
  if (id === undefined) return;
  judge.changed(id);
  const { ask } = spawn({ isCalm: true });
  if (draws.chance(0.3)) void ask("DELETE", `/jobs/${id}`);
  else void ask("PATCH", `/jobs/${id}`, { delay: draws.pick([0, 100, 250, 400, 900]) });
}

/** SQS loses a message of a tracked job: only an audit can help this job. A second loss would take another hour. */
function loseOne({ world: { draws, queues }, judge }: Stage): void {
  const queue = { topic: draws.pick(TOPICS) };
  const message = draws.pick(queues.messages(queue));
  const ids = parseMessage(message?.body ?? "")?.jobs.map(({ id }) => id) ?? [];
  if (!message || ids.some(judge.isChanged)) return;
  for (const id of ids) judge.changed(id);
  queues.lose(queue, message.id);
}

function startTicks(stage: Stage, end: number): void {
  const { world, plan } = stage;
  const { timeline, queues, draws } = world;
  const { outage, busyUntil, lateTick, doubled } = plan;
  for (let minute = START; minute < end; minute += MINUTE) {
    timeline.at(minute, () => queues.purge({ topic: "pings" }));
    if (minute >= outage.from && minute < outage.to) continue;
    const isBusy = minute > START && minute < busyUntil;
    timeline.at(minute + draws.whole(0, isBusy ? lateTick : SECOND), () => void invoke(stage));
    if (isBusy && draws.chance(doubled))
      timeline.at(minute + draws.whole(0, 50 * SECOND), () => void invoke(stage));
  }
}

/** Invokes the function of the tick, for a tick or for a part of one. */
async function invoke(stage: Stage, part?: TickPart): Promise<void> {
  const { world, plan, judge } = stage;
  const { timeline, spawn, say } = world;
  const { sizes, fates } = plan;
  const latency = world.isCalm() ? 20 : plan.latency;
  const { ctx } = spawn({
    sizes,
    latency,
    ...(fates.length > 0 && { more: { sweepers: sweepersOf(stage) } }),
  });
  const until = ctx.clock() + TICK_TIME;
  const what = `${part ? "a further invocation" : "a tick"} of ${timeline.now()}`;
  const ended = judge.began();
  say(`${what} begins`);
  const work = part ? sweepPart(ctx, part, Math.min(part.until, until)) : tick(ctx, until);
  await work.catch((error) => say(`${what} failed: ${error}`));
  say(`${what} has ended`);
  ended();
}

function sweepersOf(stage: Stage): Sweepers {
  const { world, plan } = stage;
  const { timeline, draws, say, count } = world;
  const later = (part: TickPart, ms: number): void =>
    timeline.at(timeline.now() + ms, () => void invoke(stage, part));
  return {
    most: plan.most,
    wait: timeline.wait,
    async start(part) {
      await timeline.wait(draws.whole(5, 60));
      const fate = world.isCalm() ? "runs" : draws.pick(plan.fates);
      say(`a further invocation ${fate}: ${JSON.stringify(part)}`);
      count(`further ${fate}`);
      if (fate === "refused") throw new Error("Lambda refused the event");
      if (fate === "late") later(part, draws.pick([30 * SECOND, 5 * MINUTE, HOUR]));
      if (fate === "runs" || fate === "twice") later(part, draws.whole(50, 2_000));
      if (fate === "twice") later(part, draws.whole(50, MINUTE));
    },
  };
}
