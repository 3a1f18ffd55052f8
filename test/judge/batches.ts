import type { Home } from "../../src/core/home.ts";
import { drawsOf } from "../sim/draws.ts";
import { startPullers } from "./pullers.ts";
import { startTicks } from "./ticks.ts";
import { CALM, drawWeather } from "./weather.ts";
import { CALM_FOR, createWorld, type History, MINUTE, SECOND, START, TOPICS, type World } from "./world.ts";

const STORMY = 14 * MINUTE;
/** After what times a batch is repeated: s. An earlier call can store jobs for about 375 s. */
const REPEATED_AFTER = [0, 0.003, 0.05, 1, 20, 60, 200, 375, 400];

type Job = { topic: string; body: string; delay: number; key?: string; onDuplicate?: string };
type Result = {
  status: number;
  job?: { id: string; outcome: string };
  error?: { code: string; detail: string };
};
/** How a repeat may differ from the first call. A `longer` one has one more job. `shuffled`: the jobs change their places. */
type Repeat = "same" | "shorter" | "longer" | "shuffled";
const REPEATS: Repeat[][] = [["same"], ["same", "shorter", "longer"], ["same", "shuffled", "longer"]];

type Stage = { readonly world: World; readonly judge: ReturnType<typeof judgeBatches> };

/** Users repeat batches with an `Idempotency-Key` while writes land late, reads fail, and the number of shards changes. */
export async function playBatches(seed: number, isTraced: boolean): Promise<History> {
  const draws = drawsOf(seed, "batches");
  const shards = (): number => draws.pick([1, 2, 5]);
  const weather = draws.chance(0.85) ? drawWeather(draws) : CALM;
  const calmFrom = START + STORMY;
  const end = calmFrom + CALM_FOR;
  const world = createWorld({ seed, isTraced, draws, shards: shards(), weather, calmFrom });
  const stage: Stage = { world, judge: judgeBatches(world) };
  startTicks(world, end);
  startPullers(world, end);
  let batches = 0;
  world.plan(draws.whole(2, 5), START + SECOND, START + 8 * MINUTE, () => file(stage, `batch-${++batches}`));
  world.plan(draws.whole(0, 3), START, calmFrom, () => world.deploy(shards()));
  world.plan(draws.whole(0, 6), START + MINUTE, calmFrom, () => changeOne(stage));
  await world.timeline.run(end, () => false);
  stage.judge.atEnd();
  return world.history();
}

/** Makes a call, and repeats it. The last repeat comes in calm weather, so it must be answered. */
function file(stage: Stage, token: string): void {
  const { draws, timeline, calmFrom } = stage.world;
  const repeats = draws.pick(REPEATS);
  const isShuffled = repeats.includes("shuffled");
  const jobOf = (_: unknown, i: number): Job => ({
    topic: draws.pick([...TOPICS, "orders"]),
    body: `${token} job ${i}${isShuffled ? ANY_PLACE : ""}`,
    delay: draws.pick([0, 5, 100, 205, 215, 400, 600]),
    // A batch does not notice that a job with a key and a job without one have changed places: it files both again.
    ...(!isShuffled &&
      draws.chance(0.15) && { key: "k", onDuplicate: draws.pick(["reject", "keep", "replace"]) }),
  });
  const whole = Array.from({ length: draws.pick([2, 3, 4, 7]) }, jobOf);
  const jobs = whole.slice(0, -1);
  const call = (how: Repeat): void => {
    const length = how === "longer" ? whole.length : jobs.length - (how === "shorter" ? 1 : 0);
    const some = whole.slice(0, Math.max(length, 1));
    const sent = how === "shuffled" ? some.toSorted(() => draws.next() - 0.5) : some;
    void send(stage, token, sent, timeline.now() >= calmFrom + MINUTE);
  };
  call(draws.pick(repeats));
  for (let times = draws.whole(0, 4); times > 0; times--) {
    const after = draws.pick(REPEATED_AFTER) * SECOND + draws.whole(0, 300);
    timeline.at(timeline.now() + after, () => call(draws.pick(repeats)));
  }
  timeline.at(calmFrom + 5 * MINUTE, () => call("same"));
}

async function send({ world, judge }: Stage, token: string, jobs: Job[], isCalm: boolean): Promise<void> {
  const { ask } = world.spawn();
  world.say(`${token}: ${JSON.stringify(jobs)}`);
  const { status, json } = await ask("POST", "/jobs/batch", { jobs }, token);
  if (status !== 200) return world.accuse(`a batch answered ${status}: ${json.detail}`);
  for (const [i, result] of (json.results as Result[]).entries()) {
    const { topic, body } = jobs[i] as Job;
    world.say(`${body}: ${result.error?.code ?? `${result.job?.outcome} ${result.job?.id}`}`);
    judge.answered(`${token} ${topic} ${i}`, result, isCalm);
  }
}

function changeOne({ world: { draws, spawn }, judge }: Stage): void {
  const id = draws.pick(judge.ids());
  if (id === undefined) return;
  const { ask } = spawn();
  if (draws.chance(0.4)) void ask("DELETE", `/jobs/${id}`);
  else void ask("PATCH", `/jobs/${id}`, { delay: draws.pick([0, 60, 300, 400]) });
}

/** Part of the bodies of batches whose jobs change their places: the same key with the jobs in another order is another request. */
const ANY_PLACE = ", shuffled";

/** Judges that each job of a batch is filed once. It knows the stored jobs at each moment, and the answers. */
function judgeBatches({ accuse, onHome, count, hasFaults }: World) {
  const homes = new Map<string, Home>();
  /** The ids under which a body was stored, and the ids that calls have answered for a place in a batch. */
  const [stored, answered] = [new Map<string, Set<string>>(), new Map<string, Set<string>>()];
  const add = (map: Map<string, Set<string>>, name: string, id: string): string[] => {
    const ids = (map.get(name) ?? new Set()).add(id);
    map.set(name, ids);
    return [...ids];
  };
  onHome.push((home) => {
    homes.set(home.id, home);
    const ids = add(stored, home.body, home.id);
    if (ids.length > 1 && !home.body.includes(ANY_PLACE))
      accuse(`${home.body} was filed ${ids.length} times: ${ids}`);
  });
  return {
    ids: () => [...homes.keys()],
    /** `place`: the key of the batch, the topic, and the place in the batch. */
    answered(place: string, { status, job, error }: Result, isCalm: boolean): void {
      count(error?.code ?? job?.outcome ?? String(status));
      if (error?.code === "unavailable" && (!hasFaults || isCalm)) accuse(`${place} got 503 without a fault`);
      if (error && ![409, 422, 503].includes(status)) accuse(`${place} got ${status}: ${error.detail}`);
      if (!job) return;
      if (!homes.has(job.id)) accuse(`${job.outcome} ${job.id} for ${place}, but it is not stored`);
      const ids = add(answered, place, job.id);
      if (ids.length > 1) accuse(`${place} was answered with ${ids}`);
    },
    atEnd(): void {
      for (const { id, state } of homes.values())
        if (state === "scheduled" || state === "running") accuse(`${id} has not ended: it is ${state}`);
    },
  };
}
