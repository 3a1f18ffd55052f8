import { eventsOn } from "../../../src/consumer/apply-events.ts";
import { webhookOn } from "../../../src/consumer/webhook.ts";
import { CHAIN_JOBS_A_DAY, COUNTED_GENERATION, DAY, SCHEDULES_A_DAY } from "../../../src/core/constants.ts";
import { chainKey, schedulesKey, ttl } from "../../../src/core/item-keys.ts";
import { SIZES } from "../../../src/core/work-sizes.ts";
import { measuresOf } from "../../../src/environment/telemetry.ts";
import { inChain } from "../../../src/protocol/file/chain-guard.ts";
import { enqueue, enqueueMany } from "../../../src/protocol/file/enqueue.ts";
import type { EventRule } from "../../../src/settings/event-rules.ts";
import { METRICS_NAMESPACE } from "../../../src/settings/metrics.ts";
import type { Fate } from "../faults/fate.ts";
import { type Plan, planOf } from "../faults.ts";
import { type Habit, habitOf } from "../habits.ts";
import type { Machine } from "../machine.ts";
import type { Call } from "../network.ts";
import { calling, consumeTopic, handledBy, pollQueue, tickOf } from "../platform.ts";
import { NO_TROUBLE } from "../services/service.ts";
import { type Stretch, stretchOf } from "../stretch.ts";
import { type Timeline, timelineFrom } from "../timeline.ts";
import { EVENTS_QUEUE } from "../topics.ts";
import { witnessOf } from "../witness.ts";
import { type World, worldOf } from "../world.ts";
import { type AlarmSpec, cloudWatch, type Ring } from "./cloudwatch.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const EVERY = 20 * SECOND;
const TOPICS = ["orders", "logs", "hooks"] as const;
const PAID: EventRule = {
  ...{ topic: "orders", do: "cancel", source: "shop", detailType: "Paid" },
  ...{ key: "$.detail.order", tombstone: 60 },
};
/** `ApproximateAgeOfOldestMessage` ignores messages received this often (SQS Developer Guide, "Available CloudWatch metrics"). */
const RECEIVES_THAT_COUNT = 3;

/** What goes wrong. It begins ten minutes after the start. */
export type Failure = {
  /** How `topic`'s function fails: it crashes before it claims a job, or its handler fails while a job runs. */
  consumer?: "crashes" | "hangs" | "throws" | "is slow" | "has no secret" | "answers 500";
  topic?: (typeof TOPICS)[number];
  throttled?: string;
  refusalOf?: (call: Call) => Error | undefined;
  /** ms after which each tick is killed. */
  tickLives?: number;
  /** What goes wrong with events on the way to their topic, and with the occurrences of a schedule. */
  events?: "their rule has no queue" | "their function crashes";
  occurrences?: "are given up";
  /** Callers have used up the day's schedules, and file further far jobs. */
  farJobs?: "are too many";
  /** A handler files its successor each time. */
  chain?: "goes on without end";
};

type Put = (namespace: string, name: string, of: string, value: number) => void;

type Trouble = { failure: Failure; fails: () => boolean; put: Put };

const SEED = 10;
const POLICY = {
  shards: 2,
  longDelay: 604_800,
  retention: 604_800,
  deadRetention: 7_776_000,
  topics: {
    orders: { backoff: { waits: [15, 60] }, maxAttempts: 3 },
    logs: { tracking: "none" as const, backoff: { waits: [15] }, maxAttempts: 3 },
    hooks: { webhook: { url: "https://receiver.example/hook", timeout: 5 } },
  },
};

/** Plays a stack that gets a job of each topic and an event every 20 s. Answers when each alarm rang, in minutes since the failure. */
export async function play(
  alarms: readonly AlarmSpec[],
  failure: Failure,
  minutes: number,
): Promise<Map<string, Ring[]>> {
  const habit = habitOf(SEED, "calm");
  const { start } = habit;
  const failsFrom = start + 10 * MINUTE;
  const timeline = timelineFrom(start);
  const watch = cloudWatch(alarms);
  const trouble: Trouble = {
    failure,
    fails: () => timeline.now() >= failsFrom,
    put: (namespace, name, of, value) => watch.put({ namespace, name, of }, value, timeline.now()),
  };
  const world = troubledWorld(habit, timeline, trouble);
  populate(world, trouble);
  for (let minute = 1; minute <= minutes + 10; minute++) {
    await timeline.run(start + minute * MINUTE, () => false);
    sampleAll(world, trouble);
    // A new stack has had no ticks yet, so alarms for missing ticks would ring at first.
    if (timeline.now() >= failsFrom) watch.evaluate(timeline.now());
  }
  const minute = (time: number): number => Math.round((time - failsFrom) / MINUTE);
  const inMinutes = ({ from, until }: Ring): Ring => ({
    from: minute(from),
    ...(until !== undefined && { until: minute(until) }),
  });
  return new Map([...watch.rings()].map(([id, rings]) => [id, rings.map(inMinutes)]));
}

function troubledWorld(habit: Habit, timeline: Timeline, trouble: Trouble): World {
  const { failure, fails, put } = trouble;
  const stretch = stretchOf(SEED, false);
  const plan = troubledPlan(habit.start, stretch, trouble);
  return worldOf({
    ...{ seed: SEED, plan, habit, timeline, policy: POLICY, stretch },
    // This witness reports nothing: simulate.test.ts checks the promises.
    witness: witnessOf({
      ...{ clock: timeline.now, weather: "hurt", skew: 0, latest: plan.latest, burns: true, unwanted: "" },
      ...{ untracked: new Set(["logs"]), topics: POLICY.topics, onViolation: () => {} },
    }),
    sizes: SIZES,
    trace: () => {},
    onCall({ service, operation }, outcome) {
      const isThrottled = outcome !== "answered" && outcome.name === "ProvisionedThroughputExceededException";
      if (service === "dynamodb" && isThrottled && !/Get|Query|Describe/.test(operation))
        put("AWS/DynamoDB", "WriteThrottleEvents", "jobs", 1);
    },
    onEvent(event) {
      for (const { name, value, topic } of measuresOf(event))
        put(METRICS_NAMESPACE, name, topic === undefined ? "minutehand" : `minutehand ${topic}`, value);
    },
    lambda: {
      isThrottled: (name) => fails() && name === failure.throttled,
      ended(name, how) {
        if (how === "throttled") put("AWS/Lambda", "Throttles", name, 1);
        else put("AWS/Lambda", "Invocations", name, 1);
        if (how !== "throttled") put("AWS/Lambda", "Errors", name, how === "returned" ? 0 : 1);
      },
    },
  });
}

function troubledPlan(start: number, stretch: Stretch, { failure, fails }: Trouble): Plan {
  const { refusalOf = () => undefined } = failure;
  const calm = planOf(SEED, {
    start,
    stretch: { ...stretch, shards: 2 },
    topics: TOPICS,
    roles: [],
    suppressed: new Set(),
    onFault: () => {},
  });
  const fateOf = (...asked: Parameters<typeof calm.fateOf>): Fate => {
    const refusal = fails() ? refusalOf(asked[0]) : undefined;
    return { ...calm.fateOf(...asked), ...(refusal && { refusal }) };
  };
  return { ...calm, fateOf };
}

function populate(world: World, trouble: Trouble): void {
  const { failure, fails, put } = trouble;
  for (const name of TOPICS) consume(world, name, trouble);
  eachMinute(world, tickOf(world), { fails, tickLives: failure.tickLives });
  pollQueue(world, EVENTS_QUEUE, {
    name: "event",
    build: (ctx) => {
      const applies = eventsOn(ctx, [PAID], () => {});
      const crashes = (): boolean => fails() && failure.events === "their function crashes";
      return (event) => (crashes() ? Promise.reject(new Error("Cannot find module")) : applies(event));
    },
  });
  void file(world, TOPICS, EVERY);
  if (failure.consumer === "is slow") void file(world, ["orders"], SECOND / 2);
  if (failure.chain === "goes on without end") void fileInChain(world, fails);
  if (failure.farJobs === "are too many") void fileFarJobs(world, fails);
  void tell(world, () => {
    if (!fails() || failure.events !== "their rule has no queue") return true;
    put("AWS/Events", "FailedInvocations", "rule", 1);
    return false;
  });
}

function consume(world: World, name: (typeof TOPICS)[number], trouble: Trouble): void {
  const { fails, failure } = trouble;
  const { consumer, topic = "orders" } = failure;
  const isSick = (): boolean => fails() && name === topic;
  consumeTopic(world, name, (ctx, machine) => {
    const well =
      name === "hooks"
        ? calling(name, () => async () => ({
            status: isSick() && consumer === "answers 500" ? 500 : 200,
            headers: {},
            body: "",
          }))(ctx, machine)
        : handledBy(name === topic ? handlerIn(trouble) : (_, { timers }) => timers.wait(20))(ctx, machine);
    const noSecret = webhookOn(
      ctx,
      {
        topic: name,
        secrets: () => Promise.reject(new Error("there is no secret")),
        post: () => new Promise(() => {}),
      },
      machine.timers,
      () => {},
    );
    return async (event, context) => {
      if (isSick() && consumer === "crashes") throw new Error("Cannot find module");
      return isSick() && consumer === "has no secret" ? noSecret(event, context) : well(event, context);
    };
  });
}

function handlerIn({ fails, failure: { consumer } }: Trouble) {
  return async (_: unknown, machine: Machine): Promise<void> => {
    if (fails() && consumer === "hangs") await new Promise(() => {});
    if (fails() && consumer === "throws") throw new Error("a handler failed");
    await machine.timers.wait(fails() && consumer === "is slow" ? 55 * SECOND : 20);
  };
}

function eachMinute(
  { timeline, machines }: World,
  tick: () => void,
  { fails, tickLives }: { fails: () => boolean; tickLives: number | undefined },
): void {
  const next = (): void => {
    tick();
    if (tickLives !== undefined && fails())
      timeline.at(timeline.now() + tickLives, () => {
        for (const machine of machines) if (machine.name.startsWith("tick-")) machine.kill();
      });
    timeline.at(timeline.now() + MINUTE, next);
  };
  timeline.at(timeline.now() + 17 * SECOND, next);
}

async function file(world: World, topics: readonly string[], every: number): Promise<void> {
  const { machine, ctx } = world.start("producer-1");
  for (;;) {
    const dueAt = machine.clock() + 5 * MINUTE;
    const jobs = topics.map((topic) => ({ topic, body: "{}", dueAt }));
    await enqueueMany(ctx, jobs).catch(() => {});
    await machine.timers.wait(every);
  }
}

async function fileFarJobs(world: World, fails: () => boolean): Promise<void> {
  const { machine, ctx } = world.start("producer-2");
  for (;;) {
    await machine.timers.wait(EVERY);
    if (!fails()) continue;
    const now = machine.clock();
    const amounts = { booked: SCHEDULES_A_DAY };
    await ctx.pool.count(schedulesKey(now - (now % DAY)), amounts, ttl(now + DAY), now + MINUTE);
    await enqueueMany(ctx, [{ topic: "orders", body: "{}", dueAt: now + 8 * DAY }]);
  }
}

/** Files each 20 s what would be the next jobs of a chain, so that they reach half of the day's bound in a minute. */
async function fileInChain(world: World, fails: () => boolean): Promise<void> {
  const { machine, ctx } = world.start("producer-2");
  const { home } = await enqueue(ctx, { topic: "orders", body: "{}" });
  for (let generation = COUNTED_GENERATION; ; generation++) {
    await machine.timers.wait(EVERY);
    if (!fails()) continue;
    const now = machine.clock();
    await ctx.pool.count(
      chainKey(home.id, now),
      { jobs: CHAIN_JOBS_A_DAY / 6 },
      ttl(now + DAY),
      now + MINUTE,
    );
    const job = { topic: "orders", body: "{}" };
    await enqueueMany(ctx, await inChain(ctx, [job], `${home.id}.${generation}`));
  }
}

/** Sends an event every 20 s, about a key that no job has. `reaches`: whether its rule can deliver it to a queue. */
async function tell({ timeline, sqs }: World, reaches: () => boolean): Promise<void> {
  for (let n = 1; ; n++) {
    await timeline.wait(EVERY);
    const time = new Date(timeline.now()).toISOString();
    const { source, detailType } = PAID;
    const MessageBody = JSON.stringify({
      id: `event-${n}`,
      source,
      "detail-type": detailType,
      time,
      detail: { order: n },
    });
    const entry = { Id: "1", MessageBody };
    if (reaches()) sqs.perform("SendMessageBatch", { QueueUrl: EVENTS_QUEUE, Entries: [entry] }, NO_TROUBLE);
  }
}

function sampleAll(world: World, { failure, fails, put }: Trouble): void {
  const queues = [...TOPICS, EVENTS_QUEUE].flatMap((name) => [name, `${name}_dlq`]);
  for (const queue of queues) sample(world, queue, put);
  const givenUp = fails() && failure.occurrences === "are given up" ? 1 : 0;
  put("AWS/SQS", "ApproximateNumberOfMessagesVisible", "_schedules_dlq", givenUp);
}

function sample({ sqs, timeline }: World, queue: string, put: Put): void {
  const now = timeline.now();
  const messages = sqs.messages(queue);
  const visible = messages.filter(({ visibleAt }) => visibleAt <= now).length;
  const counted = messages.filter(({ receives }) => receives < RECEIVES_THAT_COUNT);
  const oldest = Math.max(0, ...counted.map(({ sentAt }) => (now - sentAt) / 1000));
  put("AWS/SQS", "ApproximateNumberOfMessagesVisible", queue, visible);
  put("AWS/SQS", "ApproximateAgeOfOldestMessage", queue, oldest);
}
