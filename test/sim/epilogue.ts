import { timeOf } from "../../src/core/item-keys.ts";
import { periodOf } from "../../src/core/limit.ts";
import { SIZES, type Sizes } from "../../src/core/work-sizes.ts";
import { noterOf } from "./answers.ts";
import { beyondBudget, type Done, since } from "./budget.ts";
import { ON_TIME } from "./faults/one-fault.ts";
import type { Api } from "./platform.ts";
import type { Row } from "./services/expressions.ts";
import { TOPICS } from "./topics.ts";
import type { World } from "./world.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
/** Seconds. For each topic, the writer itself sends the job with the short delay, and the sweep sends the other. */
const DELAYS = [30, 260];
/** By then, a request that was sent at the last moment with faults has taken effect, or is refused as too old. ms. */
const LANDS_WITHIN = 6 * MINUTE;
/** For so long ticks must have been on time before the epilogue relies on them. ms. */
const SETTLED = 3 * MINUTE;
const CATCHES_UP_WITHIN = 60 * MINUTE;
/** How far the audit is behind the clock at most when each tick is on time: ten minutes of the sweep's time. ms. */
const AUDIT_TRAILS = 15 * MINUTE;
const LAST_CALLS = 30 * SECOND;

type Filed = { id: string; topic: string; dueAt: number };

type Means = { sizes: Sizes; run: (until: number) => Promise<void>; done: () => Done };

/**
 * When all has ended, two more jobs of each topic must be on time and cost no more than jobs of a history without faults: so the history
 * has left nothing behind that makes later jobs late or expensive.
 */
export async function playEpilogue(world: World, api: Api, { sizes, run, done }: Means): Promise<void> {
  const { timeline, witness, plan } = world;
  await settle(world, run);
  const { parked, revisions, ...rest } = done();
  // Jobs of before may wait for a window that opens during the epilogue. The budget must allow for them.
  const waiting = notesIn(world).length;
  const before = { ...rest, parked: parked - waiting, revisions: revisions - waiting };
  world.isOver = true;
  const [now, topics] = [timeline.now(), openTopics(world)];
  const filed: Filed[] = [];
  const fileAll = async (): Promise<void> => {
    for (const topic of topics)
      for (const delay of DELAYS) filed.push(...(await file(world, api, topic, delay)));
  };
  timeline.at(now, () => void fileAll());
  const spread = Math.max(...topics.map((topic) => world.policy.topics[topic]?.spread ?? 0), 0);
  await run(now + (Math.max(...DELAYS) + spread) * SECOND + ON_TIME + 2 * plan.skew + LAST_CALLS);
  for (const job of filed) judge(world, job);
  // With small pages a tick makes more calls than the budget allows.
  const isUsual = sizes === SIZES && plan.pageItems > 1000;
  const spent = beyondBudget(since(before, done()), isUsual ? [] : ["tick"]);
  if (spent) witness.overspent(`when all was calm: ${spent}`);
}

function openTopics({ timeline, witness, policy, plan }: World): string[] {
  const now = timeline.now();
  const isFree = (topic: string): boolean =>
    DELAYS.every((delay) => witness.freeAt(topic, now + delay * SECOND) === now + delay * SECOND);
  // Without faults a job may still be a little late. That can be too late for a topic with a small `ifLate.after`.
  const mayBeLate = (topic: string): boolean =>
    (policy.topics[topic]?.ifLate?.after ?? Number.POSITIVE_INFINITY) * SECOND > ON_TIME + 2 * plan.skew;
  return Object.keys(TOPICS).filter((topic) => isFree(topic) && mayBeLate(topic));
}

async function file(world: World, api: Api, topic: string, delay: number): Promise<Filed[]> {
  const spread = world.policy.topics[topic]?.spread ?? 0;
  const job = { topic, body: { epilogue: delay }, delay };
  const sentAt = world.timeline.now();
  const answer = await api("POST", "/jobs", job);
  const told = noterOf(world, topic)(answer, job, sentAt, { changed: true, spread });
  if (told) return [{ id: told.id, topic, dueAt: Date.parse(told.dueAt) }];
  world.witness.punctual("", `a job of ${topic} was refused when all was calm`);
  return [];
}

/** Waits until requests on their way have taken effect, no job waits in a queue or is parked, and sweep and audit have caught up. */
async function settle(world: World, run: Means["run"]): Promise<void> {
  const { timeline, witness, plan } = world;
  const calm = Math.max(plan.calmFrom + LANDS_WITHIN, ...plan.spells.map(({ to }) => to));
  await run(Math.ceil(Math.max(timeline.now(), plan.weather === "hurt" ? calm : 0)) + SETTLED);
  const patience = CATCHES_UP_WITHIN + Math.max(...Object.keys(TOPICS).map((one) => limitTakes(world, one)));
  const end = timeline.now() + patience;
  while (behind(world) && timeline.now() < end) await run(timeline.now() + MINUTE);
  const what = behind(world);
  if (what) witness.punctual("", `${what} ${patience} ms after all was over`);
}

/** How long the jobs that wait now need to start at their topic's limit, which a deployment may have lowered. ms. */
function limitTakes(world: World, topic: string): number {
  const { maxPerSecond } = world.policy.topics[topic] ?? {};
  if (maxPerSecond === undefined) return 0;
  const { ms, starts } = periodOf(maxPerSecond);
  const parked = notesIn(world).filter((note) => note.topic === topic).length;
  return ((parked + world.sqs.messages(topic).length) * ms) / starts;
}

function behind(world: World): string | undefined {
  const { timeline, dynamo, sqs, witness } = world;
  const now = timeline.now();
  const cursors = dynamo.rows().filter(({ swept }) => swept !== undefined);
  const waiting = Object.keys(TOPICS).flatMap((topic) => sqs.messages(topic));
  if (waiting.length > 0) return `${waiting.length} messages wait in their queues: ${waiting[0]?.body}`;
  const isNear = ({ swept, audited }: Row): boolean =>
    timeOf(swept?.S ?? "") > now && timeOf(audited?.S ?? "") > now - AUDIT_TRAILS;
  // Parked jobs of a topic whose window is closed do not count, because it may stay closed for days.
  const parked = notesIn(world).find(({ topic }) => witness.freeAt(topic, now) === now);
  if (parked) return `job ${parked.id} is still parked`;
  return cursors.every(isNear) ? undefined : "sweep or audit have not caught up";
}

function notesIn({ dynamo }: World): { id: string; topic: string }[] {
  return dynamo.rows().flatMap(({ pk, id }) => {
    const [kind, topic = ""] = pk?.S?.split("#") ?? [];
    return kind === "paused" && topic !== "" ? { id: id?.S ?? "", topic } : [];
  });
}

function judge({ witness, plan }: World, { id, topic, dueAt }: Filed): void {
  const startedAt = witness.startedAt(id);
  // The sender computes SQS's delay by one clock, and the consumer starts the job by another.
  const latest = witness.freeAt(topic, dueAt) + ON_TIME + 2 * plan.skew;
  if (startedAt === undefined) witness.punctual(id, `due at ${dueAt} when all was calm, and did not start`);
  else if (startedAt > latest)
    witness.punctual(id, `due at ${dueAt} when all was calm, and started ${startedAt - latest} ms too late`);
}
