import type { Dynamo } from "./services/dynamo.ts";
import type { World } from "./world.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

const SELDOM = 10 * MINUTE;

/**
 * On time, late, or silent in `no-ticks`. After two hours it fires less often while it has little work. In weeks it leaves out ticks
 * without work.
 */
export function minuteRule(world: World, fire: () => void) {
  const { timeline, plan, stretch, attention } = world;
  const draws = world.draws("rule");
  const phase = draws.whole(0, 59) * SECOND;
  let count = 0;
  let stopped = false;
  let hurried = false;
  let following = timeline.now() + phase;
  const isLeftOut = (now: number) => stretch.isOfWeeks && !hurried && !attention.isNeeded(now);
  const next = (): void => {
    const now = timeline.now();
    // `hurry` has brought this time forward, so the rule has fired already.
    if (now < following) return;
    const late = plan.lateTicks && now < plan.calmFrom ? draws.whole(0, 50) * SECOND : 0;
    if (!stopped && !isSilent(plan.spells, now) && !isLeftOut(now)) {
      count += 1;
      timeline.at(now + late, fire);
    }
    const isSeldom = !hurried && isQuiet(world);
    following = now + (isSeldom ? SELDOM : MINUTE);
    if (!stopped) timeline.at(following, next);
  };
  timeline.at(following, next);
  return {
    fire,
    count: () => count,
    hurry() {
      hurried = true;
      const wait = following - timeline.now();
      following -= wait - (wait % MINUTE);
      if (wait >= MINUTE) timeline.at(following, next);
    },
    ease() {
      hurried = false;
    },
    stop() {
      stopped = true;
    },
  };
}

function isSilent(spells: World["plan"]["spells"], now: number): boolean {
  return spells.some(({ kind, from, to }) => kind === "no-ticks" && from <= now && now < to);
}

function isQuiet({ timeline, stretch, habit, dynamo, witness }: World): boolean {
  const now = timeline.now();
  if (now <= habit.start + 2 * HOUR || stretch.isOfWeeks) return false;
  const isSoonFree = (topic: string): boolean => witness.freeAt(topic, now) < now + 2 * SELDOM;
  // Each tick releases only a minute's share of the parked jobs, so ticks must come each minute once the topic's window is open.
  if (parkedTopics(dynamo).some(isSoonFree)) return false;
  // Jobs that wait for a window of a few minutes a day must not miss it.
  return habit.opening === undefined || !isSoonFree(habit.topic);
}

function parkedTopics(dynamo: Dynamo): string[] {
  const topics = dynamo.rows().map(({ pk }) => /^paused#(.+)#\d+$/.exec(pk?.S ?? "")?.[1]);
  return [...new Set(topics)].filter((topic) => topic !== undefined);
}

/** How late DynamoDB's TTL deletes an item at most ("Time to Live", DynamoDB Developer Guide). Each seed draws one. ms. */
const LATEST = [0, 6 * HOUR, 48 * HOUR];
const EVERY = 7 * HOUR;

/** Plays DynamoDB's TTL until the history ends: every seven hours it deletes expired items, each with a delay of its own. */
export function deleteExpired({ timeline, dynamo, draws }: World): void {
  const latest = draws("ttl").pick(LATEST);
  const lateOf = (pk: string, sk: string): number => draws(`ttl ${pk} ${sk}`).whole(0, latest);
  const pass = (): void => {
    dynamo.expire(timeline.now(), lateOf);
    timeline.at(timeline.now() + EVERY, pass);
  };
  timeline.at(timeline.now() + EVERY, pass);
}
