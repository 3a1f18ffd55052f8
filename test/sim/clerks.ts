import { mustRefuse } from "./answers.ts";
import type { Draws } from "./draws.ts";
import { crowdedTopic } from "./habits.ts";
import type { Api } from "./platform.ts";
import { pickFrom } from "./stretch.ts";
import { UNTRACKED } from "./topics.ts";
import type { World } from "./world.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const ACTIONS = ["move", "move", "cancel", "run", "redrive"] as const;
/** The untracked topic refuses the bulk. */
const CHOICE = ["orders", "orders", "orders", "work", "rush", "hooks", "logs"];
/** A clerk's bulk is for jobs that are due from `before` ms ago until `after` ms ahead. `cancelled`: `after` of bulks that cancel. */
const REACH = { before: 2 * MINUTE, after: 20 * MINUTE, cancelled: [3 * MINUTE, 20 * MINUTE] };
const DELAYS = [MINUTE, 5 * MINUTE, 15 * MINUTE];
/** A range so long that one page cannot read all of it, and that the bulk meets the jobs that it has moved. */
const FAR = { delay: 516 * MINUTE, after: 540 * MINUTE };
/** One call reads each bucket of its range, and moves a history's jobs: it counts as this many requests. */
const STEPS = 60;
const TRIES = 4;

export function clerks(world: World, api: Api): void {
  const draws = world.draws("clerks");
  const topic = crowdedTopic(world.seed) ?? draws.pick([world.habit.topic, ...CHOICE]);
  const count = draws.chance(0.12) ? draws.whole(1, 2) : 0;
  for (let n = 1; n <= count; n++) {
    const own = world.draws(`clerk ${n}`);
    const time = world.timeline.now() + own.next() * world.stretch.span;
    if (world.isLeftOut(`clerk:${n}`)) continue;
    const token = world.draws(`clerk ${n} too`).chance(0.5) ? `clerk-${n}` : undefined;
    world.join(time, () => deal(world, api, own, topic, token));
  }
}

type Deal = {
  world: World;
  draws: Draws;
  topic: string;
  action: (typeof ACTIONS)[number];
  /** ms ahead up to which the bulk's jobs are due, and to which it moves them. */
  after: number;
  delay: number;
  group: string | undefined;
};

/** Makes a bulk's calls until it is finished, and repeats some. Without a token, a repeat of the first call begins another bulk. */
export async function deal(
  world: World,
  api: Api,
  draws: Draws,
  topic: string,
  token?: string,
): Promise<void> {
  const action = draws.pick(ACTIONS);
  if (UNTRACKED.has(topic)) {
    const dueAt = action === "move" ? { dueAt: iso(world.timeline.now()) } : {};
    return mustRefuse(world, "a bulk", await api("POST", "/jobs/bulk", { action, topic, ...dueAt }));
  }
  const headers = token === undefined ? {} : { "idempotency-key": token };
  const bulk = drawDeal(world, draws, topic, action);
  let begun: ReturnType<typeof beginBulk> | undefined;
  let cursor: unknown;
  for (let tries = TRIES; tries > 0; ) {
    begun ??= beginBulk(bulk);
    const answered = noteCancel(bulk, begun.range, cursor === undefined);
    world.counts.requests += STEPS;
    const part = { ...begun.request, ...(cursor !== undefined && { cursor }) };
    const answer = await api("POST", "/jobs/bulk", part, headers);
    answered();
    if (answer?.status === 200) {
      const next = answer.body.cursor;
      if (next === undefined) return;
      if (!draws.chance(0.3)) {
        cursor = next;
        continue;
      }
    } else if (answer && answer.status < 500) return;
    tries -= 1;
    // Without a cursor or a token the next call cannot continue the bulk that may have begun: it begins another.
    if (cursor === undefined && token === undefined) begun = undefined;
    if (answer?.status === 200) continue;
    await world.timeline.wait(draws.whole(1, 30) * SECOND);
  }
}

function drawDeal(world: World, draws: Draws, topic: string, action: Deal["action"]): Deal {
  const { plan, stretch } = world;
  // Such a bulk makes a thousand calls. With many faults it would never finish, and without faults the budget counts the calls.
  const far = draws.chance(0.6) && action === "move" && plan.weather === "one fault";
  const near = pickFrom(draws, action === "cancel" ? REACH.cancelled : [REACH.after], stretch.reaches);
  const after = far ? FAR.after : near;
  const delay = far ? FAR.delay : draws.pick(DELAYS);
  const group = draws.chance(0.2) ? draws.pick(["g", "h"]) : undefined;
  return { world, draws, topic, action, after, delay, group };
}

function beginBulk({ world, draws, topic, action, after, delay, group }: Deal) {
  const now = world.timeline.now();
  const range = { from: now - REACH.before, to: now + after };
  const request = {
    action,
    topic,
    from: iso(range.from),
    to: iso(range.to),
    ...(group && { group }),
    ...(action === "move" && moveOf(world, now, delay)),
    ...(action !== "move" && action !== "cancel" && draws.chance(0.3) && { ratePerSecond: 1 }),
  };
  return { range, request };
}

/** Two of five moves shift each job by `delay`. Draws of its own, so that the other bulks of a seed stay as they are. */
function moveOf(world: World, now: number, delay: number): { shift: number } | { dueAt: string } {
  const { bulks } = world.witness;
  if (world.draws(`move at ${now}`).chance(0.4)) return { shift: bulks.shifts(delay) / SECOND };
  return { dueAt: iso(bulks.begun(now + delay)) };
}

/** Tells the witness of a call that begins a bulk which cancels jobs. Answers a callback for the end of the call. */
function noteCancel(
  { world, topic, action, group }: Deal,
  range: { from: number; to: number },
  isFirst: boolean,
): () => void {
  const begins = action === "cancel" && isFirst;
  return begins ? world.witness.bulks.cancels({ topic, group, ...range }) : () => {};
}

function iso(time: number): string {
  return new Date(time).toISOString();
}
