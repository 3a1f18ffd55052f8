import { describe, expect, test } from "vitest";
import type { Change } from "../../protocol/ports.ts";
import { createSettler } from "../../sdk/settler.ts";
import { consume } from "./consume.ts";
import { pull } from "./scenes.ts";
import { createWorld, SECOND, START, type World } from "./world.ts";

/** DynamoDB throttles every change of this job for `ms`; what it decides of others is told at once. */
function throttle(world: World, id: string, ms: number): void {
  const original = world.pool.changeMany;
  const until = world.now() + ms;
  const isIts = ({ key }: Change) => key.sk.endsWith(id);
  world.pool.changeMany = async (changes, by, onChanged) => {
    const others = changes.filter((change) => !isIts(change));
    const decided = await original.call(world.pool, others, by);
    for (const [i, change] of changes.entries())
      if (decided[others.indexOf(change)] === "changed") onChanged?.(i);
    const last = Math.min(until, by);
    if (others.length < changes.length && world.now() < last)
      await world.pass(last - world.now(), { ticks: false });
    return Promise.all(
      changes.map(async (change) => {
        if (!isIts(change)) return decided[others.indexOf(change)] ?? new Error("no answer");
        const [result] = await original.call(world.pool, [change], by).catch(() => []);
        return result ?? new Error("throttled");
      }),
    );
  };
}

describe("while DynamoDB throttles one job of a batch,", () => {
  test("the others start at once, and it runs from its message later, no attempt lost", async () => {
    const world = createWorld();
    const quick = await world.file({ maxAttempts: 1 });
    const slow = await world.file({ maxAttempts: 1 });
    throttle(world, slow.id, 10 * SECOND);
    expect(await consume(world, "orders")).toMatchObject([{ id: quick.id, at: START }]);
    expect(world.now()).toBeLessThanOrEqual(START + 3 * SECOND);
    expect(await world.home(slow.id)).toMatchObject({ state: "scheduled", attempt: 0 });
    await world.pass(30 * SECOND, { ticks: false });
    expect(await consume(world, "orders")).toMatchObject([{ id: slow.id, attempt: 1 }]);
    expect(await world.home(quick.id)).toMatchObject({ state: "done" });
  });

  test("pulled ones are handed out with most of their leases left", async () => {
    const world = createWorld();
    const quick = await world.file({ topic: "work", maxAttempts: 1 });
    const slow = await world.file({ topic: "work", maxAttempts: 1 });
    throttle(world, slow.id, 60 * SECOND);
    expect((await pull(world)).map(({ id }) => id)).toEqual([quick.id]);
    expect(world.now()).toBeLessThanOrEqual(START + 3 * SECOND);
  });

  test("the ends of others are recorded before their leases end", async () => {
    const world = createWorld();
    const slow = await world.file({});
    const quick = await world.file({});
    const ended: { id: string; token: string }[] = [];
    const original = world.pool.changeMany;
    world.pool.changeMany = (changes, by) => {
      for (const { key, set } of changes)
        ended.push({ id: key.sk.split("#")[1] ?? "", token: String(set.token) });
      return original.call(world.pool, changes, by);
    };
    const handlers = Promise.withResolvers<void>();
    const running = consume(world, "orders", {
      run: () => handlers.promise.then(() => ({ end: "done" }) as const),
    });
    while (ended.length < 2) await new Promise(setImmediate);
    world.pool.changeMany = original;
    throttle(world, slow.id, 20 * SECOND);
    const settler = createSettler(world.ctx, START + 30 * SECOND, (ms) => world.pass(ms, { ticks: false }));
    for (const { id } of [slow, quick]) {
      const held = {
        id,
        topic: "orders",
        attempt: 1,
        token: ended.find((one) => one.id === id)?.token ?? "",
      };
      settler.settle(
        () => settler.record(held, { end: "done" }),
        () => {},
      );
      // The first one's call is in flight then.
      for (let i = 0; i < 3; i++) await null;
    }
    await settler.idle();
    const [first, second] = [await world.home(slow.id), await world.home(quick.id)];
    expect([first.state, second.state]).toEqual(["done", "done"]);
    expect(second.finishedAt).toBeLessThanOrEqual(START + 5 * SECOND);
    handlers.resolve();
    await running;
  });

  test("a claim that is known too late for a run is given back, and no attempt counts", async () => {
    const world = createWorld();
    const { id } = await world.file({ maxAttempts: 1 });
    world.pool.hooks.after = async ({ operation }) => {
      if (operation === "changeMany") await world.pass(29 * SECOND, { ticks: false });
    };
    expect(await consume(world, "orders")).toEqual([]);
    delete world.pool.hooks.after;
    expect(await world.home(id)).toMatchObject({ state: "scheduled", attempt: 0 });
    expect(await consume(world, "orders")).toMatchObject([{ id, attempt: 1 }]);
  });
});
