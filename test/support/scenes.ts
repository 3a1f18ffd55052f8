import type { Home } from "../../src/core/home.ts";
import type { Cursor } from "../../src/core/items.ts";
import { type Pulled, receive } from "../../src/protocol/run/pull.ts";
import { consume } from "./consume.ts";
import type { World } from "./world.ts";

export type Call = { readonly operation: string; readonly keys: readonly { pk: string; sk: string }[] };

export const key = "order-1";
export const orders = { topic: "orders" } as const;
export const dlq = { topic: "orders", dead: true } as const;
export const fail = () => ({ end: "failed", error: "no" }) as const;

export const isLook = ({ operation, keys }: Call): boolean =>
  operation === "insert" && keys.some(({ sk }) => sk.endsWith("#look"));
export const isAt = (prefix: string, operation?: string) => (call: Call) =>
  (operation === undefined || call.operation === operation) &&
  call.keys.some(({ pk }) => pk.startsWith(prefix));

/** From now on Scheduler's copies of schedules invoke another function than that of the present deployment. */
export function aimElsewhere({ schedules }: World): void {
  const { read } = schedules;
  schedules.read = async (name) => {
    const stored = await read(name);
    return stored && { ...stored, isAimed: false };
  };
}

/** Runs `act` just before the first pool call that `matches`, as if another process were faster. */
export function meanwhile(world: World, matches: (call: Call) => boolean, act: () => Promise<unknown>): void {
  world.pool.hooks.before = async (call) => {
    if (!matches(call)) return;
    delete world.pool.hooks.before;
    await act();
  };
}

export async function callsOf(world: World, act: () => Promise<unknown>): Promise<Call[]> {
  const calls: Call[] = [];
  world.pool.hooks.before = (call) => void calls.push(call);
  await act();
  delete world.pool.hooks.before;
  return calls;
}

export async function pull(world: World, topic = "work"): Promise<Pulled[]> {
  return receive(world.ctx, topic, { max: 10, waitSeconds: 0 }, world.timers);
}

export async function pullOne(world: World, topic?: string): Promise<Pulled> {
  const [job] = await pull(world, topic);
  if (!job) throw new Error("nothing to pull");
  return job;
}

export async function dead(world: World, more: object = {}): Promise<Home> {
  const job = await world.file({ maxAttempts: 1, ...more });
  await consume(world, "orders", { run: fail });
  return job;
}

export const cursors = (world: World): Cursor[] =>
  world.pool.items().filter((item): item is Cursor => "swept" in item);
export const liveHomes = (world: World): Home[] =>
  world.pool.items().filter((item): item is Home => "state" in item && item.state === "scheduled");
export const messageFor = ({ id, dueAt, revision }: Home) => ({
  id,
  revision,
  attempt: 1,
  dueAt: new Date(dueAt).toISOString(),
  body: {},
});

export function liveOrRunning(world: World): Home[] {
  return world.pool.items().filter((item): item is Home => "state" in item && item.state === "running");
}
