import { MinutehandError } from "../../src/core/errors.ts";
import type { Key } from "../../src/core/items.ts";
import type { Draws } from "../sim/draws.ts";
import type { Timeline } from "../sim/timeline.ts";
import { isBrownedOut, type Weather } from "./weather.ts";

/** A call to a service. `by`: the deadline of a write, by the clock of the process; absent for a read. */
export type Call = { readonly name: string; readonly keys: readonly Key[]; readonly by?: number };

type Parts = {
  readonly timeline: Timeline;
  readonly draws: Draws;
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

type State = Parts & { isDead: boolean; readonly clock: () => number };

export function createLink(parts: Parts) {
  const state: State = { ...parts, isDead: false, clock: () => parts.timeline.now() + parts.skew };
  return {
    clock: state.clock,
    call: <T>(what: Call, effect: () => Promise<T>): Promise<T> => send(state, what, effect),
    kill: (): void => {
      state.isDead = true;
    },
    isDead: () => state.isDead,
  };
}

function die(state: State): Promise<never> {
  state.isDead = true;
  return NEVER;
}

function failed({ name }: Call, why: string): MinutehandError {
  return new MinutehandError("unavailable", `${name}: ${why}`);
}

/** Makes a call: it may be slow, fail, take effect twice or late, or lose its answer, and the process may freeze or die. */
async function send<T>(state: State, what: Call, effect: () => Promise<T>): Promise<T> {
  const { timeline, draws, weather, latency, clock } = state;
  const { by = Number.POSITIVE_INFINITY, keys } = what;
  const isWrite = what.by !== undefined;
  const now = weather();
  if (state.isDead) return NEVER;
  if (draws.chance(now.freeze)) await timeline.wait(draws.whole(5_000, 200_000));
  if (draws.chance(now.crash)) return die(state);
  await timeline.wait(draws.chance(now.slow) ? draws.whole(100, 20_000) : draws.whole(1, latency));
  if (state.isDead) return NEVER;
  if (clock() >= by) throw failed(what, "its deadline has passed");
  const partitions = keys.map(({ pk }) => pk);
  if (draws.chance(now.none) || isBrownedOut(now, timeline.now(), partitions, draws))
    throw failed(what, "no effect");
  if (isWrite && draws.chance(now.late)) return landLate(state, what, effect);
  let result = await land(state, what, effect);
  if (isWrite && draws.chance(now.twice)) {
    await timeline.wait(draws.whole(100, 6_000));
    if (clock() >= by) throw failed(what, "its answer is lost, and its deadline has passed");
    result = await land(state, what, effect);
  }
  if (draws.chance(now.crash)) return die(state);
  await timeline.wait(draws.whole(1, latency));
  if (state.isDead) return NEVER;
  if (isWrite && draws.chance(now.lost)) throw failed(what, "its answer is lost");
  return result;
}

async function land<T>({ stored }: State, what: Call, effect: () => Promise<T>): Promise<T> {
  const result = await effect();
  if (what.by !== undefined) await stored(what);
  return result;
}

/** The call takes effect later than its caller waits. */
async function landLate(state: State, what: Call, effect: () => Promise<unknown>): Promise<never> {
  const { timeline, draws } = state;
  const later = draws.whole(1_000, 290_000);
  timeline.at(timeline.now() + later, () => void land(state, what, effect).catch(() => {}));
  await timeline.wait(draws.whole(5_000, 15_000));
  if (draws.chance(0.3)) return die(state);
  throw failed(what, "no answer");
}
