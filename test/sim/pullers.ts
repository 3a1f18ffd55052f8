import type { Pulled } from "../e2e/api.ts";
import type { fatesOf } from "./handlers.ts";
import type { Answer, Api } from "./platform.ts";
import type { Timeline } from "./timeline.ts";
import { UNTRACKED } from "./topics.ts";
import type { Run } from "./witness/bench.ts";
import type { World } from "./world.ts";

const SECOND = 1000;
/** While more than `MANY` messages wait, up to `PULLERS` pullers ask for the most that a receive may have: else a burst would be late. */
const MOST_AT_ONCE = 10;
const MANY = 50;
const PULLERS = 4;

type Puller = { world: World; api: Api; topic: string; fateOf: ReturnType<typeof fatesOf> };
type Say = (verb: string, more?: object) => Promise<Answer | undefined>;

/** Empties a pull topic over HTTP. It asks within a second after a message has become visible. */
export function pullTopic(world: World, api: Api, topic: string, fateOf: ReturnType<typeof fatesOf>): void {
  const { timeline, sqs, stretch } = world;
  const draws = world.draws(`puller-${topic}`);
  const countVisible = (): number =>
    sqs.messages(topic).filter(({ visibleAt }) => visibleAt <= timeline.now()).length;
  let asking = 0;
  let misses = 0;
  let cameMeanwhile = false;
  const ask = async (): Promise<void> => {
    const { pullsOne } = world.pace();
    const areMany = countVisible() > MANY;
    if (asking >= (areMany && !pullsOne ? PULLERS : 1)) {
      cameMeanwhile = true;
      return;
    }
    asking += 1;
    cameMeanwhile = false;
    const drawn = draws.whole(1, MOST_AT_ONCE);
    const max = areMany ? MOST_AT_ONCE : drawn;
    const answer = await api("POST", `/topics/${topic}/receive`, { max: pullsOne ? 1 : max });
    const jobs = (answer?.status === 200 ? answer.body.jobs : []) as Pulled[];
    if (jobs.length > 0) misses = 0;
    const working = jobs.map((job) => work({ world, api, topic, fateOf }, job));
    if (pullsOne) await Promise.all(working);
    // Another puller may start, but not after a receive without jobs, because a paused topic gives none.
    if (areMany && jobs.length > 0) void ask();
    asking -= 1;
    const left = countVisible() > 0;
    // Waits after no answer, or no job because of a pause or a throttled claim. Asks at once if more messages are visible.
    if (answer?.status !== 200 || (left && jobs.length === 0 && !cameMeanwhile))
      timeline.at(timeline.now() + waitAfter(misses++), () => void ask());
    else if (left) void ask();
  };
  const waitAfter = (missed: number): number =>
    missed === 0 ? SECOND : 20 * SECOND * (stretch.isOfWeeks ? 2 ** Math.min(missed - 1, 7) : 1);
  world.watch(topic, () => timeline.at(timeline.now() + draws.whole(10, 900), () => void ask()));
}

async function work({ world, api, topic, fateOf }: Puller, job: Pulled): Promise<void> {
  const { timeline } = world;
  const { id, receipt, attempt, dueAt, body, leaseUntil } = job;
  const run: Run = { id, topic, attempt, dueAt: Date.parse(dueAt), body: JSON.stringify(body) };
  world.witness.started(run, timeline.now() + world.plan.skew);
  const stop = world.witness.running(run);
  timeline.at(Date.parse(leaseUntil), stop);
  const fate = fateOf(id);
  world.trace(() => `puller of ${topic} runs ${id}, attempt ${attempt}: ${fate}`);
  const say: Say = (verb, more = {}) => api("POST", `/topics/${topic}/${verb}`, { receipt, ...more });
  const takes = world.draws(`takes ${id} ${attempt}`);
  if (fate === "dies") return;
  if (fate === "slow") {
    await timeline.wait(takes.whole(0, 20) * SECOND);
    await say("extend", { seconds: takes.whole(1, 120) });
    await timeline.wait(takes.whole(0, 100) * SECOND);
  }
  if (fate === "outlasts") await timeline.wait(100 * SECOND);
  await timeline.wait(takes.whole(10, 200));
  stop();
  world.witness.ended(run, fate !== "fails" && fate !== "asks" && fate !== "buries");
  const error = "a puller failed";
  if (fate === "asks") await insist(timeline, say, "retry", { error, delay: takes.whole(0, 90) });
  else if (fate === "fails") await insist(timeline, say, "retry", { error });
  else if (fate === "buries" && !UNTRACKED.has(topic))
    await insist(timeline, say, "bury", { error: "asked for" });
  else await insist(timeline, say, "finish", {});
}

async function insist(timeline: Timeline, say: Say, verb: string, more: object): Promise<void> {
  for (let i = 0; i < 3; i++) {
    const answer = await say(verb, more);
    if (answer && answer.status < 500) return;
    await timeline.wait(3 * SECOND);
  }
}
