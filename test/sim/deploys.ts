import type { TopicPolicy } from "../../src/settings/policy.ts";
import type { Draws } from "./draws.ts";
import { crowdedTopic } from "./habits.ts";
import { TOPICS, UNTRACKED } from "./topics.ts";
import type { World } from "./world.ts";

const MINUTE = 60_000;
const MOST = 3;
/** How long a topic is removed at most: less than the hour after which its jobs may be given up. ms. */
const LONGEST_ABSENCE = 20 * MINUTE;
const LIMITS = [0.1, 0.5, 1, 5, 50];
const BACKOFFS = [[1], [5, 30], [60, 300]];

/** Deployments change topics' settings while jobs wait, or remove a topic for a while. */
export function deploys(world: World): void {
  const { timeline, plan } = world;
  const draws = world.draws("deploys");
  const count = plan.weather === "hurt" && draws.chance(0.2) ? draws.whole(1, MOST) : 0;
  for (let n = 1; n <= count; n++) {
    const own = world.draws(`deploy ${n}`);
    const time = timeline.now() + own.next() * world.stretch.span;
    const topic = crowdedTopic(world.seed) ?? own.pick(Object.keys(TOPICS));
    if (world.isLeftOut(`deploy:${n}`)) continue;
    // A rule for events names its topic, so a deployment that removes the topic would have to remove the rule too.
    const isRemoved = own.chance(0.25) && world.habit.kind !== "events";
    timeline.at(time, () => {
      const before = world.policy.topics[topic];
      // Another deployment has removed the topic, and will add it again with its old settings.
      if (before === undefined) return;
      if (!isRemoved) return set(world, topic, changeOf(own, before, UNTRACKED.has(topic)));
      world.busy += 1;
      set(world, topic, undefined);
      timeline.at(timeline.now() + own.next() * LONGEST_ABSENCE, () => {
        world.busy -= 1;
        set(world, topic, before);
        world.poke(topic);
      });
    });
  }
}

function changeOf(draws: Draws, policy: Partial<TopicPolicy>, isUntracked: boolean): Partial<TopicPolicy> {
  const { maxPerSecond, ...unlimited } = policy;
  return draws.pick<Partial<TopicPolicy>>([
    { ...policy, maxAttempts: draws.whole(1, 5) },
    { ...policy, backoff: { waits: draws.pick(BACKOFFS) } },
    ...(isUntracked ? [] : [{ ...policy, maxPerSecond: draws.pick(LIMITS) }]),
    ...(maxPerSecond === undefined ? [] : [unlimited]),
  ]);
}

function set(world: World, topic: string, policy: Partial<TopicPolicy> | undefined): void {
  const { [topic]: _, ...others } = world.policy.topics;
  world.trace(() => `DEPLOY ${topic}: ${JSON.stringify(policy)}`);
  world.policy = { ...world.policy, topics: policy === undefined ? others : { ...others, [topic]: policy } };
}
