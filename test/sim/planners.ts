import { type Draws, mixOf } from "./draws.ts";
import type { Api } from "./platform.ts";
import { pickFrom } from "./stretch.ts";
import { TOPICS } from "./topics.ts";
import { SCHEDULE } from "./witness/recurring.ts";
import type { World } from "./world.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const NAMES = ["a", "b"];
const DOINGS = ["put", "pause", "resume", "delete"] as const;
/** By then, no earlier request can still take effect. */
const SETTLED = 7 * MINUTE;

/** Users who manage recurring schedules. In the end all are deleted. */
export function planners(world: World, api: Api): void {
  const { timeline, plan, stretch } = world;
  const draws = world.draws("planners");
  const count = draws.chance(0.25) ? draws.whole(1, 2) : 0;
  const doing = mixOf(world.draws("plans"), DOINGS);
  for (let n = 1; n <= count; n++) {
    const own = world.draws(`planner ${n}`);
    const name = own.pick(NAMES);
    const time = timeline.now() + own.next() * stretch.span * 0.5;
    if (world.isLeftOut(`planner:${n}`)) continue;
    world.join(time, () => keep(world, api, own, name, doing));
    const end = Math.max(timeline.now() + stretch.span, plan.calmFrom) + SETTLED;
    world.join(end, () => remove(world, api, name));
  }
}

async function keep(
  { timeline, stretch }: World,
  api: Api,
  draws: Draws,
  name: string,
  next: (draws: Draws) => (typeof DOINGS)[number],
): Promise<void> {
  const path = `/schedules/${name}`;
  const put = () =>
    api("PUT", path, {
      expression: draws.pick(stretch.rates),
      topic: draws.pick(Object.keys(TOPICS)),
      body: { [SCHEDULE]: name },
    });
  await put();
  for (let i = draws.whole(1, 4); i > 0; i--) {
    await timeline.wait(draws.next() * pickFrom(draws, [5 * SECOND, 3 * MINUTE], stretch.waits));
    const doing = next(draws);
    if (doing === "put") await put();
    else if (doing === "delete") await api("DELETE", path);
    else await api("POST", `${path}/${doing}`);
  }
  await timeline.wait(draws.next() * 2 * MINUTE);
  await api("DELETE", path);
}

async function remove({ timeline }: World, api: Api, name: string): Promise<void> {
  for (;;) {
    const answer = await api("DELETE", `/schedules/${name}`);
    if (answer?.status === 200 || answer?.status === 404) return;
    await timeline.wait(5 * SECOND);
  }
}
