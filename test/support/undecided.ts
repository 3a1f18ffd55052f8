import { MinutehandError } from "../../src/core/errors.ts";
import type { Key } from "../../src/core/items.ts";
import type { Pool } from "../../src/protocol/ports.ts";
import { SECOND, type World } from "./world.ts";

/** DynamoDB throttles all writes to some partitions; they are tried again until their deadline. Let time pass meanwhile. */
export function undecidedPool(world: World, isUndecided: (pk: string) => boolean): Pool {
  const { pool } = world;
  const each: WriteEach = (items, keyOf, by, write) =>
    writeUndecided(world, items, (item) => isUndecided(keyOf(item).pk), by, write);
  const own: Pick<Pool, "changeMany" | "insert" | "remove" | "transact"> = {
    async transact(writes, by) {
      const keys = writes.map((write) => ("insert" in write ? write.insert : Object.values(write)[0]?.key));
      const isWaiting = (): boolean => keys.some((key) => key && isUndecided(key.pk));
      while (isWaiting() && world.now() < by) await new Promise(setImmediate);
      if (isWaiting()) throw REFUSAL;
      return pool.transact(writes, by);
    },
    changeMany: (changes, by) => {
      const keyOf = ({ key }: { key: Key }) => key;
      return each(changes, keyOf, by, (some) => pool.changeMany(some, by));
    },
    insert: (items, by) => {
      const keyOf = (item: Key) => item;
      return each(items, keyOf, by, (some) => pool.insert(some, by));
    },
    async remove(keys, by) {
      const removeAll = async (some: typeof keys): Promise<"removed"[]> => {
        await pool.remove(some, by);
        return some.map(() => "removed" as const);
      };
      const outcomes = await each(keys, (key) => key, by, removeAll);
      if (outcomes.some((outcome) => outcome instanceof Error)) throw REFUSAL;
    },
  };
  return Object.assign(Object.create(pool), own);
}

const REFUSAL = new MinutehandError("unavailable", "throttled");

type WriteEach = <T, R>(
  items: readonly T[],
  keyOf: (item: T) => Key,
  by: number,
  write: (some: readonly T[]) => Promise<readonly R[]>,
) => Promise<(R | Error)[]>;

/** Writes the undecided items when none is undecided any more, but not after `by`. */
async function writeUndecided<T, R>(
  world: World,
  items: readonly T[],
  isUndecided: (item: T) => boolean,
  by: number,
  write: (some: readonly T[]) => Promise<readonly R[]>,
): Promise<(R | Error)[]> {
  const others = items.filter((item) => !isUndecided(item));
  const outcomes = await write(others);
  if (others.length < items.length)
    while (items.some(isUndecided) && world.now() < by) await new Promise(setImmediate);
  const left = items.filter((item) => !others.includes(item));
  const isOver = !left.some(isUndecided);
  const late = isOver ? await write(left) : [];
  return items.map((item) => outcomes[others.indexOf(item)] ?? late[left.indexOf(item)] ?? REFUSAL);
}

/** Lets time pass without ticks until `work` has ended, and answers the result of `work`. `each`: called each tenth of a second. */
export async function whileTimePasses<T>(
  world: World,
  work: Promise<T>,
  each: () => Promise<void> = async () => {},
): Promise<T> {
  let isOver = false;
  const end = work.finally(() => {
    isOver = true;
  });
  while (!isOver) {
    for (let i = 0; i < 50; i++) await new Promise(setImmediate);
    await world.pass(SECOND / 10, { ticks: false });
    await each();
  }
  return end;
}
