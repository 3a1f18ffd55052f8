import { MinutehandError } from "../../core/errors.ts";
import type { Key } from "../../core/items.ts";
import type { Draws } from "../sim/draws.ts";
import type { Timeline } from "../sim/timeline.ts";
import { isBrownedOut, type Weather } from "./weather.ts";

/** A call to a service. `by`: the deadline of a write, by the clock of the process; absent for a read. */
export type Call = { readonly name: string; readonly keys: readonly Key[]; readonly by?: number };

type Parts = {
  readonly timeline: Timeline;
  readonly draws: Draws;
  /** Answers the weather of this moment. */
  readonly weather: () => Weather;
  /** How long a call takes each way at most: ms. */
  readonly latency: number;
  /** How far the clock of the process is ahead: ms. */
  readonly skew: number;
  /** Called when a write has taken effect. */
  readonly stored: (what: Call) => Promise<void>;
};

const NEVER = new Promise<never>(() => {});

/** The line between one process and the services. All its calls go through `call`. A call of a dead process never answers. */
export type Link = ReturnType<typeof createLink>;

export function createLink({ timeline, draws, weather, latency, skew, stored }: Parts) {
  let dead = false;
  const clock = (): number => timeline.now() + skew;
  const kill = (): void => {
    dead = true;
  };
  const die = (): Promise<never> => {
    kill();
    return NEVER;
  };
  const failed = ({ name }: Call, why: string) => new MinutehandError("unavailable", `${name}: ${why}`);
  const land = async <T>(what: Call, effect: () => Promise<T>): Promise<T> => {
    const result = await effect();
    if (what.by !== undefined) await stored(what);
    return result;
  };
  const landLate = async (what: Call, effect: () => Promise<unknown>): Promise<never> => {
    timeline.at(timeline.now() + draws.whole(1_000, 290_000), () => void land(what, effect).catch(() => {}));
    await timeline.wait(draws.whole(5_000, 15_000));
    if (draws.chance(0.3)) return die();
    throw failed(what, "no answer");
  };
  const call = async <T>(what: Call, effect: () => Promise<T>): Promise<T> => {
    const { by = Number.POSITIVE_INFINITY, keys } = what;
    const isWrite = what.by !== undefined;
    const now = weather();
    if (dead) return NEVER;
    if (draws.chance(now.freeze)) await timeline.wait(draws.whole(5_000, 200_000));
    if (draws.chance(now.crash)) return die();
    await timeline.wait(draws.chance(now.slow) ? draws.whole(100, 20_000) : draws.whole(1, latency));
    if (dead) return NEVER;
    if (clock() >= by) throw failed(what, "its deadline has passed");
    const partitions = keys.map(({ pk }) => pk);
    if (draws.chance(now.none) || isBrownedOut(now, timeline.now(), partitions, draws))
      throw failed(what, "no effect");
    if (isWrite && draws.chance(now.late)) return landLate(what, effect);
    let result = await land(what, effect);
    if (isWrite && draws.chance(now.twice)) {
      await timeline.wait(draws.whole(100, 6_000));
      if (clock() >= by) throw failed(what, "its answer is lost, and its deadline has passed");
      result = await land(what, effect);
    }
    if (draws.chance(now.crash)) return die();
    await timeline.wait(draws.whole(1, latency));
    if (dead) return NEVER;
    if (isWrite && draws.chance(now.lost)) throw failed(what, "its answer is lost");
    return result;
  };
  return { clock, call, kill, isDead: () => dead };
}
