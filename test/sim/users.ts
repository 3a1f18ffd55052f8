import { type Draws, mixOf, shareOf } from "./draws.ts";
import { toldTopic } from "./habits.ts";
import { menders } from "./menders.ts";
import { pickFrom } from "./stretch.ts";
import { UNTRACKED } from "./topics.ts";
import { type Callers, drawTime, drawUser, type Habits, RIVALS_KEY, THEMES, type User } from "./user.ts";
import { CHANGES, change } from "./user-changes.ts";
import { file, fileFirst } from "./user-filing.ts";
import type { World } from "./world.ts";

const SECOND = 1000;
const MINUTE = 60_000;
const WAITS = [2 * SECOND, 4 * MINUTE, 10 * MINUTE];

export function users(world: World, callers: Callers): void {
  const { timeline, stretch } = world;
  const plan = world.draws("users");
  const count = plan.whole(3, 14);
  const theme = plan.pick(THEMES);
  const drawn = plan.pick(["orders", "orders", "work"]);
  const told = toldTopic(world.habit);
  const arena = told === undefined || UNTRACKED.has(told) ? drawn : told;
  const mix = world.draws("mix");
  const habits: Habits = {
    theme,
    arena,
    change: mixOf(mix, CHANGES),
    keyed: world.habit.kind === "events" ? 0.9 : shareOf(mix, 0.9),
    once: shareOf(mix, 0.8),
    direct: shareOf(mix, 1),
    many: shareOf(mix, 0.5),
  };
  for (let n = 1; n <= count; n++) {
    const draws = world.draws(`user ${n}`);
    const time = timeline.now() + draws.next() * stretch.span * 0.7;
    const at = theme === "one key" ? rushAfter(time, draws) : time;
    if (!world.isLeftOut(`user:${n}`)) world.join(at, () => act(drawUser(world, callers, n, draws, habits)));
  }
  if (theme === "one key" && !world.isLeftOut("mender:1")) menders(world, callers.api, arena, RIVALS_KEY);
}

/** The users that compete for one key act at almost the same time, a few round trips apart, so that their calls overlap. */
function rushAfter(time: number, draws: Draws): number {
  return Math.ceil(time / (2 * MINUTE)) * 2 * MINUTE + draws.whole(0, 60);
}

async function act(user: User): Promise<void> {
  const { world, bus, n, draws, own, topic, key, once, postpones } = user;
  await happen(user, `${n}`);
  const told = await fileFirst(user);
  if (told && key !== undefined && topic === world.habit.topic)
    bus?.whileItRuns(`${n}`, key, Date.parse(told.dueAt));
  if (once !== undefined && draws.chance(0.5)) await fileLater(user, draws);
  for (let i = postpones ? own.whole(1, 3) : 0; i > 0; i--) {
    await world.timeline.wait(own.next() * own.pick([2 * SECOND, 2 * MINUTE]));
    await file(user);
  }
  if (!told) return;
  user.seen = told;
  await changeOften(user, told.id);
  // In long histories this repeat comes after the first `expiresAt` of the once item.
  if (once !== undefined && own.chance(0.5)) await fileLater(user, own);
}

async function happen({ world, bus, topic, key }: User, name: string): Promise<void> {
  if (key !== undefined && topic === world.habit.topic) await bus?.around(name, key);
}

async function fileLater(user: User, draws: Draws): Promise<void> {
  const { timeline, stretch } = user.world;
  await timeline.wait(draws.next() * pickFrom(draws, [5 * MINUTE], stretch.waits));
  await file(user);
}

async function changeOften(user: User, id: string): Promise<void> {
  const { world, n, draws, rivals, habits } = user;
  const { timeline, stretch } = world;
  const changes = rivals || draws.chance(0.5) ? draws.whole(1, 4) : 0;
  for (let i = 0; i < changes; i++) {
    await timeline.wait(draws.next() * pickFrom(draws, WAITS, stretch.waits));
    if (rivals) await timeline.wait(rushAfter(timeline.now(), draws) - timeline.now());
    const what = habits.change(draws);
    const when = drawTime(user);
    if (world.isLeftOut(`user:${n}:${i}`)) continue;
    if (what === "replace") await happen(user, `${n}:${i}`);
    await change(user, id, what, when);
  }
}
