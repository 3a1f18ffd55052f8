import { describe, expect, test } from "vitest";
import type { Home } from "../../../src/core/home.ts";
import { homeKey, timeOf } from "../../../src/core/item-keys.ts";
import type { Cursor, Item } from "../../../src/core/items.ts";
import { parseMessage } from "../../../src/core/message.ts";
import { consume } from "../../support/consume.ts";
import { cursors } from "../../support/scenes.ts";
import { createWorld, HOUR, MINUTE, type World } from "../../support/world.ts";

const TOPICS = { bad: {}, good: {} } as const;

/** Faults of a home that a newer version, or a manual change of the table, may have caused. */
const SPOILT: [string, (home: Home) => object][] = [
  ["is of a newer layout", (home) => ({ ...home, v: 2 })],
  ["is of a newer layout and has no state", ({ state, ...home }) => ({ ...home, v: 2, phase: state })],
  ["does not say its layout", ({ v: _, ...home }) => home],
  [
    "has no wantedAt beside its expiresAfter",
    ({ wantedAt: _, ...home }) => ({ ...home, expiresAfter: 1000 }),
  ],
  ["is due at a text", (home) => ({ ...home, dueAt: "tomorrow" })],
  ["is due after the end of time", (home) => ({ ...home, dueAt: 9e15 })],
  ["has no revision", ({ revision: _, ...home }) => home],
  ["has half a revision", (home) => ({ ...home, revision: 0.5 })],
  ["has no topic", ({ topic: _, ...home }) => home],
  ["has a topic of 3,000 letters", (home) => ({ ...home, topic: "a".repeat(3000) })],
  ["has no body", ({ body: _, ...home }) => home],
  ["has a state that nobody knows", (home) => ({ ...home, state: "sleeping" })],
  ["has another job's id", (home) => ({ ...home, id: `${home.id.slice(0, -1)}0` })],
  ["has headers that are text", (home) => ({ ...home, headers: "a=b" })],
  ["is held until a map", (home) => ({ ...home, heldUntil: {} })],
];

/** A world with one spoilt job of topic `bad`, and jobs of topic `good`. All are due in ten minutes. */
async function scene(spoil: (home: Home) => object): Promise<{ world: World; bad: Home }> {
  const world = createWorld({ shards: 1, topics: TOPICS });
  await world.tick();
  const files = (topic: string): Promise<Home> => world.file({ topic, delay: 10 * MINUTE });
  await files("good");
  const bad = await files("bad");
  await files("good");
  world.pool.put(spoil(bad) as Item);
  return { world, bad };
}

/** The ids of the jobs that have messages in a queue. */
const sent = (world: World, topic: string): Set<string> =>
  new Set(
    world.queues
      .messages({ topic })
      .flatMap(({ body }) => parseMessage(body)?.jobs ?? [])
      .map(({ id }) => id),
  );
const storedAt = (world: World, id: string): Item | undefined =>
  world.pool.items().find(({ pk, sk }) => pk === homeKey(id).pk && sk === homeKey(id).sk);
const reports = (world: World) => world.events.filter(({ type }) => type === "unreadable");

describe("a home that cannot be read, as it", () => {
  test.each(SPOILT)("%s, delays no other job and is left alone", async (_, spoil) => {
    const { world, bad } = await scene(spoil);
    const stands = storedAt(world, bad.id);
    await world.pass(40 * MINUTE);
    expect(sent(world, "good").size).toBe(2);
    expect(sent(world, "bad")).toEqual(new Set());
    expect(storedAt(world, bad.id)).toEqual(stands);
    const [cursor] = cursors(world) as [Cursor];
    expect(timeOf(cursor.swept)).toBeGreaterThanOrEqual(world.now() + 2 * MINUTE);
    expect(timeOf(cursor.audited)).toBeGreaterThan(world.now() - 15 * MINUTE);
    expect(reports(world)[0]).toMatchObject({ what: "sweeping", jobs: 1, id: bad.id });
  });
});

test("a job that cannot be read runs when the code that can read it is back", async () => {
  const { world, bad } = await scene((home) => ({ ...home, v: 2 }));
  await world.pass(20 * MINUTE);
  world.pool.put(bad);
  await world.pass(5 * MINUTE);
  expect(sent(world, "bad")).toEqual(new Set([bad.id]));
});

test("the longer a job cannot be read, the less often it is looked at", async () => {
  const { world, bad } = await scene((home) => ({ ...home, v: 2 }));
  const looksIn = async (hours: number): Promise<number> => {
    const before = reports(world).length;
    await world.pass(hours * HOUR);
    return reports(world).length - before;
  };
  expect(await looksIn(1)).toBeLessThanOrEqual(2 * 13);
  await looksIn(22);
  // Each look is read twice: by a sweep and by an audit.
  expect(await looksIn(24)).toBeLessThanOrEqual(2 * 7);
  const looks = world.pool.items().filter(({ sk }) => sk.endsWith(`${bad.id}#look`));
  expect(looks.length).toBeLessThan(60);
  world.pool.put(bad);
  await world.pass(5 * HOUR);
  expect(sent(world, "bad")).toEqual(new Set([bad.id]));
});

test("a job that an audit cannot read is looked at again, and counts as found", async () => {
  const world = createWorld({ shards: 1, topics: TOPICS });
  await world.tick();
  const bad = await world.file({ topic: "bad", delay: 10 * MINUTE });
  await world.pass(9 * MINUTE);
  world.queues.purge({ topic: "bad" });
  world.pool.put({ ...bad, v: 2 });
  await world.pass(20 * MINUTE);
  expect(world.events).toContainEqual(expect.objectContaining({ type: "audited", found: 1 }));
  world.pool.put(bad);
  await world.pass(10 * MINUTE);
  expect(sent(world, "bad")).toContain(bad.id);
});

test("an entry that names no job is reported and skipped", async () => {
  const world = createWorld({ shards: 1, topics: TOPICS });
  await world.tick();
  const good = await world.file({ topic: "good", delay: 10 * MINUTE });
  for (const sk of ["nonsense", "#", "9#look", "~look", "00#short"])
    world.pool.put({ ...good, sk: `${good.sk.slice(0, 9)}${sk}` });
  world.pool.put({ ...good, sk: `${good.sk}#look#look` });
  await world.pass(HOUR);
  expect(sent(world, "good")).toContain(good.id);
  const [cursor] = cursors(world) as [Cursor];
  expect(timeOf(cursor.swept)).toBeGreaterThanOrEqual(world.now() + 2 * MINUTE);
  expect(world.events).toContainEqual(
    expect.objectContaining({
      type: "trouble",
      what: "reading a bucket",
      error: expect.stringContaining("nonsense"),
    }),
  );
});

test("a topic whose settings throw delays no other topic", async () => {
  const settings = Object.defineProperty({}, "pack", {
    enumerable: true,
    get() {
      throw new Error("no such setting");
    },
  });
  const world = createWorld({ shards: 1, topics: { good: {}, bad: settings } });
  const home = await createWorld({ topics: TOPICS }).file({ topic: "bad", delay: 10 * MINUTE });
  await world.tick();
  await world.file({ topic: "good", delay: 10 * MINUTE });
  const { pk } = await world.file({ topic: "good", delay: 10 * MINUTE });
  world.pool.put({ ...home, pk });
  await world.pass(30 * MINUTE);
  expect(sent(world, "good").size).toBeGreaterThanOrEqual(2);
  expect(world.events).toContainEqual(
    expect.objectContaining({ type: "hand-over-failed", topic: "bad", reason: "no such setting" }),
  );
  const [cursor] = cursors(world) as [Cursor];
  expect(timeOf(cursor.swept)).toBeGreaterThanOrEqual(world.now() + 2 * MINUTE);
});

test("a death that cannot be recorded keeps no other job waiting", async () => {
  const world = createWorld({ shards: 1, topics: TOPICS });
  await world.tick();
  await world.file({ topic: "bad", delay: 10 * MINUTE });
  await world.file({ topic: "good", delay: 10 * MINUTE });
  world.queues.trouble({ topic: "bad" }, "missing");
  world.pool.hooks.before = ({ keys }) => {
    if (keys.some(({ pk }) => pk.startsWith("dead#bad"))) throw new Error("ValidationException");
  };
  await world.pass(HOUR);
  expect(sent(world, "good").size).toBe(1);
  const [cursor] = cursors(world) as [Cursor];
  expect(timeOf(cursor.swept)).toBeGreaterThanOrEqual(world.now() + 2 * MINUTE);
  delete world.pool.hooks.before;
  await world.pass(3 * HOUR);
  expect(world.events.filter(({ type }) => type === "dead")).toHaveLength(1);
});

test("a page stops while no look of a job that cannot be read can be filed", async () => {
  const { world, bad } = await scene((home) => ({ ...home, v: 2 }));
  world.pool.hooks.before = ({ operation, keys }) => {
    if (operation === "insert" && keys.some(({ sk }) => sk.endsWith("#look"))) throw new Error("no pool");
  };
  await expect(world.pass(10 * MINUTE)).rejects.toThrow("no pool");
  const [cursor] = cursors(world) as [Cursor];
  expect(timeOf(cursor.swept)).toBeLessThanOrEqual(bad.dueAt);
  delete world.pool.hooks.before;
  await world.pass(10 * MINUTE);
  world.pool.put(bad);
  await world.pass(10 * MINUTE);
  expect(sent(world, "bad")).toContain(bad.id);
});

test("a job whose body is no JSON keeps no other job of its second from running", async () => {
  const world = createWorld({ shards: 1, topics: TOPICS });
  await world.tick();
  const [first, bad, last] = [
    await world.file({ topic: "good", delay: 10 * MINUTE }),
    await world.file({ topic: "good", delay: 10 * MINUTE }),
    await world.file({ topic: "good", delay: 10 * MINUTE }),
  ];
  world.pool.put({ ...bad, body: '{"half":' });
  await world.pass(10 * MINUTE);
  expect((await consume(world, "good")).map(({ id }) => id).sort()).toEqual([first.id, last.id].sort());
});
