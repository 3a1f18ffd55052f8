import type { Draws } from "./draws.ts";
import type { Api } from "./platform.ts";
import { UNTRACKED } from "./topics.ts";
import type { World } from "./world.ts";

const SECOND = 1000;
const TOPICS = ["orders", "orders", "work", "rush", "hooks", "logs"];
const GROUPS = ["g", "h"];
/** An erase reads the whole table, and cancels and deletes jobs: it counts as this many requests. */
const STEPS = 100;
const TRIES = 4;

/** Some histories have a user who erases the jobs of a topic, or of a group in it. */
export function erasers(world: World, api: Api): void {
  const draws = world.draws("erasers");
  if (!draws.chance(0.06) || world.isLeftOut("eraser")) return;
  const time = world.timeline.now() + draws.next() * world.stretch.span;
  world.join(time, () => erase(world, api, draws));
}

/** Makes the calls of an erase until it is finished, and repeats some. Then no job that was stored before is left, except those it has named. */
async function erase(world: World, api: Api, draws: Draws): Promise<void> {
  const { witness, timeline, counts } = world;
  const group = draws.chance(0.3) ? draws.pick(GROUPS) : undefined;
  const topic = draws.pick([world.habit.topic, ...TOPICS]);
  // An untracked job may come although it was erased.
  if (UNTRACKED.has(topic)) return;
  const request = { topic, ...(group && { group }) };
  const done = witness.erases.begun({ ...request, group });
  let left = 0;
  let cursor: unknown;
  for (let tries = TRIES; tries > 0; ) {
    counts.requests += STEPS;
    const answer = await api("POST", "/jobs/erase", { ...request, ...(cursor !== undefined && { cursor }) });
    if (answer?.status === 200) {
      const { skipped, cursor: next } = answer.body as { skipped: Record<string, number>; cursor?: string };
      left += Object.values(skipped).reduce((sum, count) => sum + count, 0);
      if (next === undefined) return done(left);
      if (!draws.chance(0.2)) {
        cursor = next;
        continue;
      }
    } else if (answer && answer.status < 500) return;
    tries -= 1;
    await timeline.wait(draws.whole(1, 30) * SECOND);
  }
}
