import type { Draws } from "./draws.ts";
import { crowdedTopic } from "./habits.ts";
import type { Api } from "./platform.ts";
import { pickFrom } from "./stretch.ts";
import type { World } from "./world.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const ACTIONS = ["move", "move", "cancel", "run", "redrive"] as const;
/** Mostly topics where there is more to do than to cancel. */
const CHOICE = ["orders", "orders", "orders", "work", "rush", "hooks", "logs"];
/** ms before and after now that jobs are due which a clerk deals with. */
const REACH = { before: 2 * MINUTE, after: 20 * MINUTE, cancelled: [3 * MINUTE, 20 * MINUTE] };
const DELAYS = [MINUTE, 5 * MINUTE, 15 * MINUTE];
/** So far that one page does not read it all, and what was moved is met again. */
const FAR = { delay: 516 * MINUTE, after: 540 * MINUTE };
/** A part reads each bucket of its reach, and moves a history's jobs. */
const STEPS = 60;
const TRIES = 4;

/** Those who cancel, move, run and redrive many jobs at once. Answers whether all are through. */
export function clerks(
  world: World,
  api: Api,
  { suppressed, span }: { suppressed: ReadonlySet<string>; span: number },
): () => boolean {
  const draws = world.draws("clerks");
  const topic = crowdedTopic(world.seed) ?? draws.pick([world.habit.topic, ...CHOICE]);
  const count = draws.chance(0.12) ? draws.whole(1, 2) : 0;
  let busy = 0;
  for (let n = 1; n <= count; n++) {
    const own = world.draws(`clerk ${n}`);
    const time = world.timeline.now() + own.next() * span;
    if (suppressed.has(`clerk:${n}`)) continue;
    busy += 1;
    world.timeline.at(time, () => {
      const token = world.draws(`clerk ${n} too`).chance(0.5) ? `clerk-${n}` : undefined;
      void deal(world, api, own, topic, token).then(() => {
        busy -= 1;
      });
    });
  }
  return () => busy === 0;
}

/**
 * Goes through with one bulk, and repeats a part now and then. Where its first answer is lost it begins another, unless a
 * token says that it is the same.
 */
async function deal(world: World, api: Api, draws: Draws, topic: string, token?: string): Promise<void> {
  const { timeline, witness, plan, stretch } = world;
  const action = draws.pick(ACTIONS);
  // Where much goes wrong a thousand calls come to no end, and where nothing does they are counted.
  const far = draws.chance(0.6) && action === "move" && plan.weather === "one fault";
  const near = pickFrom(draws, action === "cancel" ? REACH.cancelled : [REACH.after], stretch.reaches);
  const after = far ? FAR.after : near;
  const delay = far ? FAR.delay : draws.pick(DELAYS);
  const group = draws.chance(0.2) ? draws.pick(["g", "h"]) : undefined;
  let range = { from: 0, to: 0 };
  let request: object | undefined;
  let cursor: unknown;
  for (let tries = TRIES; tries > 0; ) {
    const now = timeline.now();
    if (!request) range = { from: now - REACH.before, to: now + after };
    request ??= {
      action,
      topic,
      from: iso(range.from),
      to: iso(range.to),
      ...(group && { group }),
      ...(action === "move" && { dueAt: iso(witness.bulks.begun(now + delay)) }),
      ...(action !== "move" && action !== "cancel" && draws.chance(0.3) && { ratePerSecond: 1 }),
    };
    const begins = action === "cancel" && cursor === undefined;
    const begun = begins ? witness.bulks.cancels({ topic, group, ...range }) : () => {};
    world.requests += STEPS;
    const part = { ...request, ...(cursor !== undefined && { cursor }) };
    const answer = await api(
      "POST",
      "/jobs/bulk",
      part,
      token === undefined ? {} : { "idempotency-key": token },
    );
    begun();
    if (answer?.status === 200) {
      const next = answer.body.cursor;
      if (next === undefined) return;
      if (!draws.chance(0.3)) {
        cursor = next;
        continue;
      }
    } else if (answer && answer.status < 500) return;
    tries -= 1;
    // Nobody knows the bulk that was begun: the next is another.
    if (cursor === undefined && token === undefined) request = undefined;
    if (answer?.status === 200) continue;
    await timeline.wait(draws.whole(1, 30) * SECOND);
  }
}

function iso(time: number): string {
  return new Date(time).toISOString();
}
