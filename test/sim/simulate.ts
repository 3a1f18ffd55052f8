import { homeKey } from "../../core/items.ts";
import { parseMessage } from "../../core/message.ts";
import { SIZES } from "../../core/work-sizes.ts";
import { beyondBudget, kindOf } from "./budget.ts";
import { busOf } from "./bus.ts";
import { careless } from "./careless.ts";
import { clerks } from "./clerks.ts";
import { deploys } from "./deploys.ts";
import { drawsOf } from "./draws.ts";
import { epilogueOf } from "./epilogue.ts";
import { type Blow, LOSING } from "./faults/blows.ts";
import { type Plan, planOf, type Weather, weatherOf } from "./faults.ts";
import { crowdedTopic, habitOf, toldTopic, topicsOf } from "./habits.ts";
import { fatesOf, handlerOf } from "./handlers.ts";
import { deleteExpired, minuteRule } from "./minute-rule.ts";
import { operators } from "./operators.ts";
import { planners } from "./planners.ts";
import { apiOf, calling, consumeTopic, handledBy, scheduleTargets, tickOf } from "./platform.ts";
import { producersOf } from "./producers.ts";
import { pullTopic } from "./pullers.ts";
import { receiversOf } from "./receivers.ts";
import type { Dynamo } from "./services/dynamo.ts";
import type { Row } from "./services/expressions.ts";
import type { Message } from "./services/sqs.ts";
import { sizesOf } from "./sizes.ts";
import { storms } from "./storms.ts";
import { strangers } from "./strangers.ts";
import { stretchOf } from "./stretch.ts";
import { sufferers } from "./sufferers.ts";
import { timelineFrom } from "./timeline.ts";
import { LAMBDA_TOPICS, PULL_TOPICS, TOPICS, UNTRACKED, WEBHOOK_TOPICS } from "./topics.ts";
import { users } from "./users.ts";
import type { Violation } from "./witness/bench.ts";
import { witnessOf } from "./witness.ts";
import { UNWANTED, type World, worldOf } from "./world.ts";

export type History = {
  seed: number;
  weather: Weather;
  violation: Violation | undefined;
  /** Faults that happened, by the names that suppress them. */
  faults: Map<string, string>;
  /** How many calls reached a service, by kind: the caller's role and the service. */
  calls: Map<string, number>;
  jobs: number;
  runs: number;
  /** ms from the due time of each run to its start, in the order of their starts. */
  lateness: number[];
  /** A hash of all calls: two histories with the same calls have the same. */
  digest: number;
  trace: string[];
  /** The places of the code that it reached, if a campaign asked for them (reached.ts). */
  reached?: string[];
};

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

const TRACKED = Object.keys(TOPICS).filter((topic) => !UNTRACKED.has(topic));

/** The longest TTL of looks and untracked homes, plus a day because it counts from the time that they are filed for. */
const LONGEST_TTL = 91 * 24 * HOUR;
/** For a topic that opens once a day: each attempt may wait for the next opening, and a slow resume releases about 30 jobs a day. */
const LONG_PATIENCE = 480 * HOUR;

/** Plays one history. `suppressed`: faults and users to leave out. `weeks`: makes it last weeks, as a few histories do anyway. */
export async function simulate(
  seed: number,
  {
    suppressed = new Set<string>(),
    traced = false,
    weeks = false,
  }: { suppressed?: ReadonlySet<string>; traced?: boolean; weeks?: boolean } = {},
): Promise<History> {
  const habit = habitOf(seed, weatherOf(seed));
  const { start } = habit;
  const topics = topicsOf(habit);
  const sizes = sizesOf(seed);
  const stretch = stretchOf(seed, weeks);
  const { span, shards } = stretch;
  const kept = drawsOf(seed, "kept");
  const timeline = timelineFrom(start);
  const faults = new Map<string, string>();
  const calls = new Map<string, number>();
  const trace: string[] = [];
  let digest = 0;
  let violation: Violation | undefined;
  const stamp = (): string => new Date(timeline.now()).toISOString().slice(stretch.isOfWeeks ? 5 : 11, 23);
  const note = (line: () => string): void => {
    if (traced && !violation) trace.push(`${stamp()} ${line()}`);
  };

  const plan = planOf(seed, {
    start,
    stretch,
    topics: Object.keys(TOPICS),
    opening: habit.opening,
    roles: habit.kind === "events" ? ["event"] : [],
    suppressed,
    onFault(key, what) {
      faults.set(key, what);
      note(() => `FAULT ${key}: ${what}`);
    },
  });
  const witness = witnessOf({
    clock: timeline.now,
    weather: plan.weather,
    skew: plan.skew,
    latest: plan.latest,
    burns: plan.burns,
    unwritten: plan.unwritten,
    unwanted: UNWANTED,
    untracked: UNTRACKED,
    topics,
    onViolation(found) {
      note(() => `VIOLATION of ${found.promise}: ${found.id} ${found.text}`);
      violation ??= found;
    },
  });
  const world = worldOf({
    seed,
    plan,
    habit,
    timeline,
    witness,
    policy: {
      shards,
      longDelay: kept.pick(stretch.longDelays),
      retention: kept.pick(stretch.retentions),
      deadRetention: 14 * 86_400,
      topics,
    },
    sizes,
    stretch,
    trace: note,
    onCall(call) {
      const { machine, operation, index } = call;
      const kind = kindOf(call);
      calls.set(kind, (calls.get(kind) ?? 0) + 1);
      for (const part of [timeline.now(), index, machine.name.length, operation.length])
        digest = (Math.imul(digest, 31) + part) | 0;
    },
  });

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
  for (const come of [operators, planners, clerks, storms, careless, sufferers]) come(world, api);
  strangers(world);
  deploys(world);
  const through = (): boolean => world.busy === 0 && (bus?.through() ?? true);

  const enough = (): boolean => violation !== undefined;
  const done = () => ({
    calls: new Map(calls),
    ticks: ticks.count(),
    shards: world.policy.shards,
    letters: TRACKED.map((topic) => {
      const queue = `${topic}_dlq`;
      return Math.max(witness.lettersTo(queue), world.sqs.messages(queue).length);
    }),
    ...world.counts,
    ...witness.sent(),
  });
  const patience = habit.kind === "window" ? Math.max(LONG_PATIENCE, stretch.patience) : stretch.patience;
  for (let end = start + span; end <= start + span + patience; end += stretch.isOfWeeks ? HOUR : MINUTE) {
    await timeline.run(end, enough);
    if (enough() || (through() && witness.unfinished(mayLose(plan)).length === 0)) break;
  }
  if (!enough()) {
    witness.judge(mayLose(plan), (dead) => isLetterThere(world, dead));
    const burst = plan.weather === "calm" && witness.limits.broken();
    if (burst) witness.overspent(burst);
    // The budget is that of production's sizes. In weeks a tick also reads the left-out ticks' minutes, and a list reads those of days.
    const excused = stretch.isOfWeeks ? ["tick", "callers to the pool"] : [];
    const spent = plan.weather === "calm" && sizes === SIZES && beyondBudget(done(), excused);
    if (spent) witness.overspent(spent);
    if (!enough() && !suppressed.has("epilogue:1")) {
      ticks.hurry();
      await epilogueOf(world, api, { sizes, run: (until) => timeline.run(until, enough), done })();
      ticks.ease();
    }
    // If a process died before it removed items of an ended job, the audit removes them when it reads the job's last look.
    const end = timeline.now() + patience;
    while (staying(world.dynamo, timeline.now(), start).length > 0 && timeline.now() < end && !enough())
      await timeline.run(timeline.now() + 10 * MINUTE, enough);
    ticks.stop();
    for (const name of world.scheduler.completed()) witness.rubbish("", `schedule ${name}`);
    const silent = LAMBDA_TOPICS.filter((topic) => !world.sources.polls(topic));
    for (const topic of silent) witness.rubbish("", `${topic}'s event source, disabled,`);
    for (const { id, pk } of staying(world.dynamo, timeline.now(), start))
      witness.rubbish(id?.S ?? "", pk?.S ?? "");
  }
  return {
    seed,
    weather: plan.weather,
    violation,
    faults,
    calls,
    jobs: witness.count(),
    runs: witness.lateness.length,
    lateness: witness.lateness,
    digest,
    trace,
  };
}

/** The items that TTL will not delete in time, and that no shard needs. `start`: when the history began. */
function staying(dynamo: Dynamo, now: number, start: number): Row[] {
  // The longer a job has been held, the further ahead the audit files its next look: at most by the length of the history.
  const longestLook = LONGEST_TTL + now - start;
  const longest = ({ sk }: Row): number => (sk?.S?.endsWith("#look") ? longestLook : LONGEST_TTL);
  const stays = (row: Row): boolean => !(Number(row.expiresAt?.N) * 1000 < now + longest(row));
  const left = dynamo
    .rows()
    .filter((row) => stays(row) && !/^(cursor#|meta$|limited$|paused$)/.test(row.pk?.S ?? ""));
  // With a retention of minutes, which no deployment can have, TTL may delete a home before the audit releases its key.
  return left.filter(({ pk, id }) => !pk?.S?.startsWith("key#") || isStored(dynamo, id?.S ?? ""));
}

function isStored(dynamo: Dynamo, id: string): boolean {
  const { pk, sk } = homeKey(id);
  return dynamo.row(pk, sk) !== undefined;
}

/** Whether messages can be lost after SQS has accepted them. Jobs of untracked topics are then lost too. */
function mayLose({ weather, blows, lostReceive, badHandlers }: Plan): boolean {
  return weather !== "calm" && (badHandlers || lostReceive > 0 || blows.some(({ kind }) => LOSING.has(kind)));
}

/** Whether a dead job's envelope is in its DLQ, or still in the ready queue to which SQS's own redrive has moved it. */
function isLetterThere(
  { sqs }: World,
  { topic, id, revision }: { topic: string; id: string; revision: number },
): boolean {
  return [...sqs.messages(`${topic}_dlq`), ...sqs.messages(topic)].some(({ body }) => {
    const message = parseMessage(body);
    return message?.dead && message.jobs.some((job) => job.id === id && job.revision === revision);
  });
}

/** Deletes messages of a ready queue. Dead letters may be among them, and no code can restore those. */
function destroy(world: World, topic: string, messages: readonly Message[]): void {
  const { sqs, witness } = world;
  for (const message of [...messages]) {
    sqs.lose(topic, message);
    const parsed = parseMessage(message.body);
    for (const { id, revision } of parsed?.dead ? parsed.jobs : [])
      if (!isLetterThere(world, { topic, id, revision })) witness.destroyed(id, revision);
  }
}

function strikeBlow(world: World, { kind, key }: Blow, tick: () => void): void {
  const { sqs, timeline } = world;
  const draws = world.draws(key);
  const drawn = draws.pick(Object.keys(TOPICS));
  // Half of the blows strike the crowded topic or the topic with the additional setting: otherwise they would rarely strike it.
  const topic =
    (draws.chance(0.5) ? (crowdedTopic(world.seed) ?? toldTopic(world.habit)) : undefined) ?? drawn;
  const message = () => {
    const waiting = sqs.messages(topic);
    return waiting.length > 0 ? draws.pick(waiting) : undefined;
  };
  world.trace(() => `BLOW ${kind} (${topic})`);
  switch (kind) {
    case "purge":
      destroy(world, topic, sqs.messages(topic));
      return;
    case "lose-message": {
      const lost = message();
      if (lost) destroy(world, topic, [lost]);
      return;
    }
    case "duplicate-message": {
      const again = message();
      if (again) sqs.duplicate(topic, again);
      return;
    }
    case "native-redrive":
      sqs.redrive(topic);
      return;
    case "kill":
    case "freeze-machine": {
      const machines = [...world.machines];
      if (machines.length === 0) return;
      const victim = draws.pick(machines);
      world.trace(() => `BLOW ${kind} strikes ${victim.name}`);
      if (kind === "kill") victim.kill();
      else victim.freeze(draws.next() * draws.pick([10 * SECOND, 80 * SECOND, 170 * SECOND]));
      return;
    }
    case "double-tick":
      tick();
      timeline.at(timeline.now() + draws.whole(0, 3000), tick);
      return;
    case "ttl":
      world.dynamo.expire(timeline.now());
      return;
    case "more-shards":
      world.policy = { ...world.policy, shards: 2 * world.stretch.shards };
  }
}
