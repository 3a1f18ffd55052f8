import { drawsOf } from "../sim/draws.ts";
import { judgeKeys, type KeyCall, type KeysJudge } from "./keys-judge.ts";
import { startPullers } from "./pullers.ts";
import { startTicks } from "./ticks.ts";
import { CALM, drawWeather } from "./weather.ts";
import {
  CALM_FOR,
  createWorld,
  type History,
  MINUTE,
  SECOND,
  SKEW,
  START,
  TOPICS,
  type World,
} from "./world.ts";

const MODES = ["reject", "keep", "replace", "postpone", undefined] as const;
/** After what times a call with an `Idempotency-Key` is repeated: ms. */
const REPEATED_AFTER = [0, 3, 50, SECOND, 20 * SECOND, 200 * SECOND, 400 * SECOND, 900 * SECOND];

/** A time so long ago has passed by the clock of each process. */
const SURELY_PAST = 2 * SKEW;

type Stage = { readonly world: World; readonly judge: KeysJudge; readonly keys: string[]; calls: number };

/** Users file, replace, keep, postpone and cancel jobs of one or two keys, many at once, and repeat calls with an `Idempotency-Key`. */
export async function playKeys(seed: number, isTraced: boolean): Promise<History> {
  const draws = drawsOf(seed, "keys");
  const weather = draws.chance(0.85) ? drawWeather(draws) : CALM;
  const calmFrom = START + draws.pick([3, 8, 20]) * MINUTE;
  const end = calmFrom + CALM_FOR;
  const world = createWorld({ seed, isTraced, draws, shards: draws.whole(1, 3), weather, calmFrom });
  const stage: Stage = { world, judge: judgeKeys(world), keys: draws.pick([["k"], ["k", "l"]]), calls: 0 };
  startTicks(world, end);
  startPullers(world, end);
  world.plan(draws.whole(4, 16), START + SECOND, calmFrom - 21 * SECOND, () => burst(stage));
  await world.timeline.run(end, () => false);
  stage.judge.atEnd();
  void tryKeys(stage);
  await world.timeline.run(end + MINUTE, () => false);
  return world.history();
}

function burst(stage: Stage): void {
  const { draws, plan, timeline } = stage.world;
  const width = draws.pick([3, 30, 300, 3 * SECOND, 20 * SECOND]);
  const topic = draws.pick([...TOPICS, "orders"]);
  plan(draws.pick([1, 2, 3, 5, 8]), timeline.now(), timeline.now() + width, () => act(stage, topic));
}

function act(stage: Stage, topic: string): void {
  const { world, judge, keys } = stage;
  const { draws } = world;
  const key = draws.pick(keys);
  const share = draws.next();
  const { ask } = world.spawn();
  const id = draws.pick(judge.ids());
  if (share < 0.65) enqueue(stage, topic, draws.chance(0.9) ? key : undefined);
  else if (share < 0.82) {
    const call: KeyCall = { verb: "cancel", topic, key, from: world.timeline.now() };
    void send(stage, call, "DELETE", `/topics/${topic}/jobs/${key}`);
  } else if (share < 0.92 && id !== undefined)
    void ask("PATCH", `/jobs/${id}`, { delay: draws.pick([0, 30, 300]) });
  else void ask("POST", `/topics/${topic}/redrive`, { max: 5 });
}

/** Files a job. With an `Idempotency-Key`, perhaps repeats the call: at once, or up to fifteen minutes later. */
function enqueue(stage: Stage, topic: string, key: string | undefined): void {
  const { draws, timeline } = stage.world;
  stage.calls += 1;
  const [body, token] = [`job ${stage.calls}`, draws.chance(0.6) ? `token-${stage.calls}` : undefined];
  const onDuplicate = key === undefined ? undefined : draws.pick(MODES);
  const delay = draws.pick([0, 2, 10, 60, 200, 240, 500, 900]);
  const maxDelay = onDuplicate === "postpone" ? 600 : undefined;
  const past = draws.chance(0.25) ? timeline.now() - delay * SECOND - SURELY_PAST : undefined;
  const time = past === undefined ? { delay } : { dueAt: new Date(past).toISOString() };
  // JSON leaves out what is undefined.
  const request = { topic, body, ...time, key, onDuplicate, maxDelay };
  const call = (): void => {
    const asked = { topic, key, body: JSON.stringify(body), token, past, from: timeline.now() };
    void send(stage, { verb: "enqueue", ...asked }, "POST", "/jobs", request, token);
  };
  call();
  for (let repeats = token === undefined ? 0 : draws.whole(0, 3); repeats > 0; repeats--)
    timeline.at(timeline.now() + draws.pick(REPEATED_AFTER) + draws.whole(0, 300), call);
}

async function send(
  { world, judge }: Stage,
  call: KeyCall,
  ...request: [method: string, path: string, body?: object, token?: string | undefined]
): Promise<void> {
  const { ask } = world.spawn();
  world.say(`asks ${JSON.stringify(request)}`);
  judge.began(call);
  const answer = await ask(...request);
  world.say(`${call.verb} ${call.body ?? call.key}: ${answer.code ?? answer.json.outcome} ${answer.json.id}`);
  judge.answered(call, answer);
}

/** When all is over, each key must take a job, refuse another job, lead to its job, and be free again. */
async function tryKeys({ world, keys }: Stage): Promise<void> {
  const { ask } = world.spawn();
  for (const topic of TOPICS)
    for (const key of keys) {
      const job = { topic, key, body: "last", delay: 3600 };
      const first = await ask("POST", "/jobs", job);
      const second = await ask("POST", "/jobs", job);
      const last = await ask("DELETE", `/topics/${topic}/jobs/${key}`);
      const told = [first, second, last].map(({ status }) => status).join(" ");
      const isSame = second.json.id === first.json.id && last.json.id === first.json.id;
      if (told !== "201 409 200" || !isSame)
        world.accuse(`key ${topic}/${key} is not free at the end: ${told}`);
    }
}
