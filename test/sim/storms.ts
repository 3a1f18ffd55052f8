import { LEAST_RETENTION } from "../../src/core/constants.ts";
import { type BatchResult, batchNoterOf, noterOf } from "./answers.ts";
import { deal } from "./clerks.ts";
import type { Draws } from "./draws.ts";
import { crowdedTopic, topicsOf } from "./habits.ts";
import type { Api } from "./platform.ts";
import { LIMITED, TOPICS, UNTRACKED, WEBHOOK_TOPICS } from "./topics.ts";
import type { World } from "./world.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
/** `heartbeat`: one caller replaces a key's job each second. `debounce`: several callers postpone one key's job at the same time. */
const KINDS = [
  "heartbeat",
  "debounce",
  "backlog",
  "backlog",
  "cancelled backlog",
  "cancelled backlog",
] as const;
type Kind = (typeof KINDS)[number];
/** The topics of backlogs. Those with a limit are drawn more often. */
const BACKLOGGED = ["rush", "rush", "drip", ...Object.keys(TOPICS)];
/** Users file a backlog at most so long before ticks are missing: ms. */
const BUSY_BEFORE = 5 * MINUTE;
const KEYED = Object.keys(TOPICS).filter((topic) => !UNTRACKED.has(topic));
const DELAYS = { heartbeat: [2, 5, 30, 240], debounce: [1, 3, 10], backlog: [0, 60, 200, 300, 420, 600] };
/** `maxDelay`: s after which a debounced job is due at the latest; fast calls soon reach it. `pace`: the most ms between two calls. */
const DEBOUNCES = [
  { maxDelay: 30, pace: 2 * SECOND },
  { maxDelay: 120, pace: 2 * SECOND },
  { maxDelay: 2, pace: 200 },
] as const;
const REPEATS = { least: 20, most: 120 };
/** Jobs of a backlog. One in ten is as large as a request may be. */
const BACKLOG = { least: 10, most: 60, largest: 500 };
/** How soon a caller repeats a call that was not answered, or not for all jobs: ms. */
const REPEATED_WITHIN = [30 * SECOND, 30 * SECOND, 10 * MINUTE];
/** The most messages of one call to SQS. So a request counts as one call of a user for each ten jobs. */
const JOBS_A_CALL = 10;

export function storms(world: World, api: Api): void {
  const { timeline, stretch } = world;
  const draws = world.draws("storms");
  const kind = draws.pick(KINDS);
  const crowded = crowdedTopic(world.seed);
  const topics = isOfOneKey(kind) ? KEYED : BACKLOGGED;
  const topic = crowded !== undefined && topics.includes(crowded) ? crowded : draws.pick(topics);
  const outage = world.plan.spells.find(({ kind }) => kind === "no-ticks");
  const isBusy = outage !== undefined && world.draws("busy").chance(0.5);
  const usual = timeline.now() + draws.next() * stretch.span * 0.7;
  const time = isBusy ? Math.max(timeline.now(), outage.from - draws.next() * BUSY_BEFORE) : usual;
  const callers = kind === "debounce" ? draws.whole(2, 4) : 1;
  if ((!draws.chance(0.2) && !isBusy) || world.isLeftOut("storm:1")) return;
  for (let n = 1; n <= callers; n++) {
    const own = world.draws(`storm ${n}`);
    world.join(time, () => play(world, api, kind, topic, own));
  }
}

function isOfOneKey(kind: Kind): kind is "heartbeat" | "debounce" {
  return kind === "heartbeat" || kind === "debounce";
}

function play(world: World, api: Api, kind: Kind, topic: string, draws: Draws): Promise<void> {
  if (kind === "heartbeat") return beat(world, api, topic, draws);
  if (kind === "debounce") return debounce(world, api, topic, draws);
  return file(world, api, topic, draws, kind === "cancelled backlog");
}

async function beat(world: World, api: Api, topic: string, draws: Draws): Promise<void> {
  const note = noterOf(world, topic);
  const delay = draws.pick(DELAYS.heartbeat);
  const spread = topicsOf(world.habit)[topic]?.spread ?? 0;
  for (let edit = draws.whole(REPEATS.least, REPEATS.most); edit > 0; edit--) {
    const wish = { body: { beat: edit }, delay };
    const sentAt = world.timeline.now();
    note(await api("PUT", `/topics/${topic}/jobs/beat`, wish), wish, sentAt, { changed: true, spread });
    await world.timeline.wait(SECOND);
  }
}

async function debounce(world: World, api: Api, topic: string, draws: Draws): Promise<void> {
  const note = noterOf(world, topic);
  const spread = topicsOf(world.habit)[topic]?.spread ?? 0;
  const { maxDelay, pace } = world.draws("debounce").pick(DEBOUNCES);
  const key = { topic, key: "debounced", onDuplicate: "postpone", maxDelay };
  for (let edit = draws.whole(REPEATS.least, REPEATS.most); edit > 0; edit--) {
    const job = { ...key, body: { edit }, delay: draws.pick(DELAYS.debounce) };
    const sentAt = world.timeline.now();
    note(await api("POST", "/jobs", job), job, sentAt, { changed: false, spread });
    await world.timeline.wait(draws.next() * pace);
  }
}

async function file(
  world: World,
  api: Api,
  topic: string,
  draws: Draws,
  isCancelled: boolean,
): Promise<void> {
  const { timeline } = world;
  const { count, delay } = drawBacklog(world, topic, draws);
  const results = await fileBacklog(world, api, { topic, count, delay });
  if (!results || UNTRACKED.has(topic)) return;
  if (!isCancelled) return hurry(world, api, topic, delay);
  await timeline.wait(draws.next() * draws.pick([10 * SECOND, 2 * MINUTE]));
  const ids = results.flatMap(({ job: told }) => (told && draws.chance(0.9) ? told.id : []));
  await cancelAll(world, api, ids, stepsFor(count));
}

function drawBacklog({ plan }: World, topic: string, draws: Draws): { count: number; delay: number } {
  // So many webhook calls take long, so a huge backlog is for webhooks only where the witness does not judge lateness.
  const isSlow = WEBHOOK_TOPICS.includes(topic) && plan.weather !== "hurt";
  const huge = draws.chance(0.1) && !LIMITED.has(topic) && !isSlow;
  const count = huge ? BACKLOG.largest : draws.whole(BACKLOG.least, BACKLOG.most);
  return { count, delay: draws.pick(DELAYS.backlog) };
}

function stepsFor(jobs: number): number {
  return Math.ceil(jobs / JOBS_A_CALL);
}

type Backlog = { topic: string; count: number; delay: number };

/** Files a backlog with one call. Some callers repeat the call until all jobs are filed. */
async function fileBacklog(
  world: World,
  api: Api,
  { topic, count, delay }: Backlog,
): Promise<BatchResult[] | undefined> {
  const { timeline, witness } = world;
  const spread = topicsOf(world.habit)[topic]?.spread ?? 0;
  const jobs = Array.from({ length: count }, (_, mate) => ({ topic, delay, body: { mate } }));
  const noteBatch = batchNoterOf(noterOf(world, topic), jobs, spread);
  const repeating = world.draws("storm repeats");
  const isOnce = world.policy.retention * SECOND >= LEAST_RETENTION && repeating.chance(0.5);
  const token = isOnce ? "storm" : undefined;
  const call = async () => {
    const sentAt = timeline.now();
    world.counts.requests += stepsFor(count);
    const headers = token === undefined ? {} : { "idempotency-key": token };
    return noteBatch(await api("POST", "/jobs/batch", { jobs }, headers), token, sentAt);
  };
  if (token !== undefined) witness.repeats.asked(jobs.map(({ body }) => body));
  let results = await call();
  for (let i = 0; i < 3 && token !== undefined && !results?.every(({ status }) => status < 500); i++) {
    await timeline.wait(repeating.next() * repeating.pick(REPEATED_WITHIN));
    results = (await call()) ?? results;
  }
  return results;
}

async function cancelAll(world: World, api: Api, ids: readonly string[], steps: number): Promise<void> {
  const { witness } = world;
  const overs = ids.map((id) => witness.cancelAsked(id));
  world.counts.requests += steps;
  const cancelled = await api("POST", "/jobs/cancel", { ids });
  for (const over of overs) over();
  for (const { status, job: told } of (cancelled?.body.results ?? []) as BatchResult[])
    if (status === 200 && told) witness.cancelled(told);
}

/** A clerk moves or cancels a backlog in bulk when it is about to run, so that the bulk meets jobs that consumers claim. */
async function hurry(world: World, api: Api, topic: string, delay: number): Promise<void> {
  const own = world.draws("storm's bulk");
  // With a single fault some bulks are long (clerks.ts), and without faults a bulk that meets a backlog would cost more than others.
  if (world.plan.weather !== "hurt" || !own.chance(0.6)) return;
  await world.timeline.wait(Math.max(0, delay * SECOND - own.next() * own.pick([SECOND, 10 * SECOND])));
  await deal(world, api, own, topic);
}
