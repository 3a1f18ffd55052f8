import { SIZES, type Sizes } from "../../src/core/work-sizes.ts";
import { isLetterThere, strikeBlow } from "./blows.ts";
import { beyondBudget, type Done } from "./budget.ts";
import { busOf } from "./bus.ts";
import { careless } from "./careless.ts";
import { clerks } from "./clerks.ts";
import { deploys } from "./deploys.ts";
import { drawsOf } from "./draws.ts";
import { playEpilogue } from "./epilogue.ts";
import { erasers } from "./erasers.ts";
import { LOSING } from "./faults/blows.ts";
import { type Plan, planOf, weatherOf } from "./faults.ts";
import { habitOf, topicsOf } from "./habits.ts";
import { fatesOf, handlerOf } from "./handlers.ts";
import { type History, type Notes, recordOf } from "./history.ts";
import { judgeLeftovers, staying } from "./leftovers.ts";
import { deleteExpired, minuteRule } from "./minute-rule.ts";
import { operators } from "./operators.ts";
import { planners } from "./planners.ts";
import { type Api, apiOf, calling, consumeTopic, handledBy, scheduleTargets, tickOf } from "./platform.ts";
import { producersOf } from "./producers.ts";
import { pullTopic } from "./pullers.ts";
import { receiversOf } from "./receivers.ts";
import { sizesOf } from "./sizes.ts";
import { storms } from "./storms.ts";
import { strangers } from "./strangers.ts";
import { stretchOf } from "./stretch.ts";
import { sufferers } from "./sufferers.ts";
import { timelineFrom } from "./timeline.ts";
import { LAMBDA_TOPICS, PULL_TOPICS, TOPICS, UNTRACKED, UNWANTED, WEBHOOK_TOPICS } from "./topics.ts";
import { users } from "./users.ts";
import { witnessOf } from "./witness.ts";
import { type World, worldOf } from "./world.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const TRACKED = Object.keys(TOPICS).filter((topic) => !UNTRACKED.has(topic));

/** For a topic that opens once a day: each attempt may wait for the next opening, and a slow resume releases about 30 jobs a day. */
const LONG_PATIENCE = 480 * HOUR;

type Options = { suppressed?: ReadonlySet<string>; traced?: boolean; weeks?: boolean };

type Stage = {
  record: Notes;
  world: World;
  sizes: Sizes;
  api: Api;
  ticks: ReturnType<typeof minuteRule>;
  isThrough: () => boolean;
  patience: number;
};

/** Plays one history. `suppressed`: faults and users to leave out. `weeks`: makes it last weeks, as a few histories do anyway. */
export async function simulate(seed: number, options: Options = {}): Promise<History> {
  const scene = sceneOf(seed, options);
  const { record, world } = scene;
  const { witness, plan, habit, stretch } = world;
  const longest = habit.kind === "window" ? LONG_PATIENCE : 0;
  const stage = { ...scene, ...populate(world), patience: Math.max(longest, stretch.patience) };
  await play(stage);
  if (!record.violation) await judgeEnd(stage);
  const { violation, faults, calls, digest, trace } = record;
  const { lateness } = witness;
  return {
    ...{ seed, weather: plan.weather, violation, faults, calls },
    ...{ jobs: witness.count(), runs: lateness.length, lateness, digest, trace },
  };
}

function sceneOf(seed: number, { suppressed = new Set(), traced = false, weeks = false }: Options) {
  const habit = habitOf(seed, weatherOf(seed));
  const { start } = habit;
  const topics = topicsOf(habit);
  const sizes = sizesOf(seed);
  const stretch = stretchOf(seed, weeks);
  const kept = drawsOf(seed, "kept");
  const timeline = timelineFrom(start);
  const { record, note, onFault, onViolation, onCall } = recordOf(timeline, stretch, traced);
  const plan = planOf(seed, {
    ...{ start, stretch, topics: Object.keys(TOPICS), opening: habit.opening, suppressed, onFault },
    roles: habit.kind === "events" ? ["event"] : [],
  });
  const { weather, skew, latest, burns, unwritten } = plan;
  const witness = witnessOf({
    ...{ clock: timeline.now, weather, skew, latest, burns, unwritten, topics, onViolation },
    ...{ unwanted: UNWANTED, untracked: UNTRACKED },
  });
  const policy = {
    ...{ shards: stretch.shards, longDelay: kept.pick(stretch.longDelays) },
    ...{ retention: kept.pick(stretch.retentions), deadRetention: 14 * 86_400, topics },
  };
  const world = worldOf({
    ...{ seed, plan, habit, timeline, witness, policy, sizes, stretch, trace: note, onCall },
  });
  return { record, world, sizes };
}

function populate(world: World): Pick<Stage, "api" | "ticks" | "isThrough"> {
  const { timeline, plan, habit, stretch } = world;
  const api = apiOf(world);
  const fateOf = fatesOf(world);
  const handle = handlerOf(world, fateOf);
  const post = receiversOf(world, fateOf);
  for (const topic of LAMBDA_TOPICS)
    consumeTopic(world, topic, WEBHOOK_TOPICS.includes(topic) ? calling(topic, post) : handledBy(handle));
  for (const topic of PULL_TOPICS) pullTopic(world, api, topic, fateOf);
  scheduleTargets(world);
  const ticks = minuteRule(world, tickOf(world));
  for (const blow of plan.blows) timeline.at(blow.time, () => strikeBlow(world, blow, ticks.fire));
  if (stretch.isOfWeeks) deleteExpired(world);
  const bus = habit.kind === "events" ? busOf(world) : undefined;
  users(world, { api, producers: producersOf(world), bus });
  for (const come of [operators, planners, clerks, erasers, storms, careless, sufferers]) come(world, api);
  strangers(world);
  deploys(world);
  return { api, ticks, isThrough: () => world.busy === 0 && (bus?.through() ?? true) };
}

async function play({ record, world, isThrough, patience }: Stage): Promise<void> {
  const { timeline, witness, habit, plan, stretch } = world;
  const isEnough = (): boolean => record.violation !== undefined;
  const from = habit.start + stretch.span;
  for (let end = from; end <= from + patience; end += stretch.isOfWeeks ? HOUR : MINUTE) {
    await timeline.run(end, isEnough);
    if (isEnough() || (isThrough() && witness.unfinished(mayLose(plan)).length === 0)) break;
  }
}

async function judgeEnd(stage: Stage): Promise<void> {
  const { record, world, ticks, patience } = stage;
  const { timeline, witness, plan, dynamo } = world;
  const { start } = world.habit;
  const isEnough = (): boolean => record.violation !== undefined;
  witness.judge(mayLose(plan), (dead) => isLetterThere(world, dead));
  if (plan.weather === "calm") judgeCost(stage);
  if (!isEnough() && !plan.suppressed.has("epilogue:1")) await judgeEpilogue(stage, isEnough);
  // If a process died before it removed items of an ended job, the audit removes them when it reads the job's last look.
  const end = timeline.now() + patience;
  while (staying(dynamo, timeline.now(), start).length > 0 && timeline.now() < end && !isEnough())
    await timeline.run(timeline.now() + 10 * MINUTE, isEnough);
  ticks.stop();
  judgeLeftovers(world, start);
}

function judgeCost(stage: Stage): void {
  const { witness, stretch } = stage.world;
  const burst = witness.limits.broken();
  if (burst) witness.overspent(burst);
  // The budget is that of production's sizes. In weeks a tick also reads the left-out ticks' minutes, and a list reads those of days.
  const excused = stretch.isOfWeeks ? ["tick", "callers to the pool"] : [];
  const spent = stage.sizes === SIZES && beyondBudget(doneIn(stage), excused);
  if (spent) witness.overspent(spent);
}

async function judgeEpilogue(stage: Stage, isEnough: () => boolean): Promise<void> {
  const { world, api, sizes, ticks } = stage;
  ticks.hurry();
  const run = (until: number): Promise<void> => world.timeline.run(until, isEnough);
  await playEpilogue(world, api, { sizes, run, done: () => doneIn(stage) });
  ticks.ease();
}

function doneIn({ record, world, ticks }: Stage): Done {
  const { witness, sqs, policy, counts } = world;
  const letters = TRACKED.map((topic) => {
    const queue = `${topic}_dlq`;
    return Math.max(witness.lettersTo(queue), sqs.messages(queue).length);
  });
  const calls = new Map(record.calls);
  return { calls, ticks: ticks.count(), shards: policy.shards, letters, ...counts, ...witness.sent() };
}

/** Whether messages can be lost after SQS has accepted them. Jobs of untracked topics are then lost too. */
function mayLose({ weather, blows, lostReceive, badHandlers }: Plan): boolean {
  return weather !== "calm" && (badHandlers || lostReceive > 0 || blows.some(({ kind }) => LOSING.has(kind)));
}
