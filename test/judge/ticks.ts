import { tick } from "../../src/protocol/hand-over/tick.ts";
import { MINUTE, SECOND, START, type World } from "./world.ts";

/** How long a tick may begin new work. */
export const TICK_TIME = 150 * SECOND;

/** Each minute, in a process of its own. One in twenty is missed. The first has calm weather: a stack ticks before its users come. */
export function startTicks({ timeline, draws, spawn, say }: World, until: number): void {
  const run = (isFirst: boolean): void => {
    const { ctx } = spawn(isFirst ? { isCalm: true } : {});
    tick(ctx, ctx.clock() + TICK_TIME).catch((error) => say(`a tick failed: ${error}`));
  };
  run(true);
  for (let minute = START + MINUTE; minute < until; minute += MINUTE)
    if (draws.chance(0.95)) timeline.at(minute + draws.whole(0, 2 * SECOND), () => run(false));
}
