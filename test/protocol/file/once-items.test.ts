import { describe, expect, it } from "vitest";
import { DAY, LANDS_WITHIN } from "../../../src/core/constants.ts";
import { MinutehandError } from "../../../src/core/errors.ts";
import type { Home } from "../../../src/core/home.ts";
import type { SharedOnceItem } from "../../../src/core/items.ts";
import { cancel } from "../../../src/protocol/change/cancel.ts";
import { pauseTopic } from "../../../src/protocol/change/pause.ts";
import { redrive } from "../../../src/protocol/change/redrive.ts";
import { reschedule } from "../../../src/protocol/change/reschedule.ts";
import { resume } from "../../../src/protocol/hand-over/release.ts";
import type { Enqueued, NewJob } from "../../../src/protocol/new-job.ts";
import { sharedJobs } from "../../../src/protocol/store/shared-once-item.ts";
import { consume } from "../../support/consume.ts";
import { type Call, callsOf, cursors, isLook, meanwhile } from "../../support/scenes.ts";
import { createWorld, HOUR, MINUTE, SECOND, type World } from "../../support/world.ts";

const once = { token: "t", hash: "h" };
const key = "k";

/** Deletes all items whose TTL has passed. */
async function deleteExpired(world: World): Promise<void> {
  const over = world.pool
    .items()
    .filter((item) => "expiresAt" in item && Number(item.expiresAt) * SECOND <= world.now());
  await world.pool.remove(over, world.now() + HOUR);
}

/** Lets time pass without ticks. Then TTL deletes without delay. */
async function leap(world: World, ms: number): Promise<void> {
  await world.pass(ms, { ticks: false });
  await deleteExpired(world);
}

/** Lets days pass with a tick each hour, and TTL without delay. */
async function live(world: World, days: number): Promise<void> {
  for (let hour = 0; hour < days * 24; hour++) {
    await leap(world, HOUR);
    await world.tick();
  }
}

const isOnce = (item: object): item is SharedOnceItem => "hashes" in item;
const onceItems = (world: World): SharedOnceItem[] => world.pool.items().filter(isOnce);
const namedBy = (item: SharedOnceItem | undefined): string => (item && sharedJobs(item)[0]?.id) ?? "";
const homes = (world: World): Home[] => world.pool.items().filter((item): item is Home => "dueAt" in item);

async function expectRepeatIs(
  world: World,
  job: Partial<NewJob> & { delay?: number },
  id: string,
): Promise<void> {
  expect(await world.fileAll(job)).toMatchObject({ outcome: "replayed", home: { id } });
}

describe("an Idempotency-Key names its job as long as the job lives, and a day longer", () => {
  it("when the job is moved just so little that its item need not change, and then runs late", async () => {
    const world = createWorld();
    const { id } = await world.file({ once });
    await reschedule(world.ctx, id, { dueAt: world.now() + DAY - MINUTE });
    await leap(world, DAY + 9 * MINUTE);
    await world.tick();
    await consume(world, "orders");
    expect(await world.home(id)).toMatchObject({ state: "done" });
    await leap(world, DAY - MINUTE);
    await expectRepeatIs(world, { once }, id);
  });

  it("when the job is moved so little, and no tick comes for two days after that", async () => {
    const world = createWorld();
    const { id } = await world.file({ once });
    await reschedule(world.ctx, id, { dueAt: world.now() + DAY - MINUTE });
    await leap(world, 3 * DAY - 2 * MINUTE);
    await expectRepeatIs(world, { once }, id);
  });

  it("when the job is rescheduled far beyond its first time", async () => {
    const world = createWorld();
    const { id } = await world.file({ delay: HOUR, once });
    await reschedule(world.ctx, id, { dueAt: world.now() + 30 * DAY });
    await leap(world, 29 * DAY);
    await expectRepeatIs(world, { delay: HOUR, once }, id);
    expect(homes(world)).toHaveLength(1);
  });

  it("when the call replaced a job and another caller then replaced it, so that a repeat replaces nothing", async () => {
    const world = createWorld();
    const { id } = await world.file({ key, delay: HOUR });
    const first = { key, body: '"first"', delay: 2 * HOUR, onDuplicate: "replace", once } as const;
    await world.file(first);
    const later = { key, body: '"later"', delay: 40 * DAY, onDuplicate: "replace" } as const;
    await world.file({ ...later, once: { token: "u", hash: "h" } });
    await leap(world, 5 * DAY);
    await expectRepeatIs(world, first, id);
    expect(await world.home(id)).toMatchObject({ body: '"later"', revision: 2 });
  });

  it("when many calls postpone the job, for each of the last ten calls", async () => {
    const world = createWorld();
    const call = (n: number) =>
      ({
        key,
        delay: 20 * HOUR,
        onDuplicate: "postpone",
        maxDelay: 40 * DAY,
        once: { token: `${n}`, hash: "h" },
      }) as const;
    const { id } = await world.file(call(0));
    for (let n = 1; n <= 12; n++) {
      await leap(world, 10 * HOUR);
      await world.file(call(n));
    }
    await reschedule(world.ctx, id, { dueAt: world.now() + 20 * DAY });
    await leap(world, 15 * DAY);
    for (let n = 3; n <= 12; n++) await expectRepeatIs(world, call(n), id);
    expect((await world.home(id)).once?.split("\n")).toHaveLength(10);
  });

  it("when its attempts fail for days", async () => {
    const world = createWorld();
    const { id } = await world.file({ once });
    for (let day = 0; day < 5; day++) {
      await consume(world, "orders", { run: () => ({ end: "retry-in", wait: DAY }) });
      await leap(world, DAY);
      await world.tick();
      await world.tick();
    }
    await expectRepeatIs(world, { once }, id);
  });

  it("when nobody runs it for days", async () => {
    const world = createWorld();
    const { id } = await world.file({ once });
    await live(world, 5);
    await expectRepeatIs(world, { once }, id);
    expect(homes(world)).toHaveLength(1);
  });

  it("when its topic is paused for days and resumed at a rate", async () => {
    const world = createWorld();
    const { id } = await world.file({ delay: HOUR, once });
    await world.file({ delay: HOUR + SECOND, once: { token: "u", hash: "h" } });
    await pauseTopic(world.ctx, "orders");
    await live(world, 6);
    await expectRepeatIs(world, { delay: HOUR, once }, id);
    await resume(world.ctx, "orders", 1 / (4 * 86_400));
    await live(world, 3);
    const request = { delay: HOUR + SECOND, once: { token: "u", hash: "h" } };
    expect(await world.fileAll(request)).toMatchObject({ outcome: "replayed" });
    expect(homes(world)).toHaveLength(2);
  });

  it("when ticks are missing for days and TTL is late", async () => {
    const world = createWorld();
    const { id } = await world.file({ once });
    await world.pass(4 * DAY, { ticks: false });
    await expectRepeatIs(world, { once }, id);
    await consume(world, "orders");
    await world.pass(23 * HOUR, { ticks: false });
    await expectRepeatIs(world, { once }, id);
    await world.pass(2 * HOUR, { ticks: false });
    expect((await world.file({ once })).id).not.toBe(id);
  });

  it("when it died and is redriven within the day", async () => {
    const world = createWorld();
    const { id } = await world.file({ once });
    await consume(world, "orders", { run: () => ({ end: "buried", error: "x" }) });
    await leap(world, 23 * HOUR);
    await redrive(world.ctx, "orders", { ids: [id], max: 1, delay: 9 * DAY });
    await leap(world, 8 * DAY);
    await expectRepeatIs(world, { once }, id);
  });

  it("when two callers move the job at once, whichever move wins", async () => {
    const world = createWorld();
    const { id } = await world.file({ delay: HOUR, once });
    let isMet = false;
    world.pool.hooks.before = async ({ operation, keys }) => {
      if (isMet || operation !== "change" || keys[0]?.sk !== "once") return;
      isMet = true;
      await reschedule(world.ctx, id, { dueAt: world.now() + 30 * DAY });
    };
    await reschedule(world.ctx, id, { dueAt: world.now() + 10 * DAY });
    await reschedule(world.ctx, id, { dueAt: world.now() + 20 * DAY });
    expect(onceItems(world)[0]?.expiresAt).toBeGreaterThanOrEqual((world.now() + 31 * DAY) / SECOND);
  });

  it("and then can name another job", async () => {
    const world = createWorld();
    const first = await world.file({ once });
    await consume(world, "orders");
    await world.pass(23 * HOUR, { ticks: false });
    await expectRepeatIs(world, { once }, first.id);
    await world.pass(2 * HOUR, { ticks: false });
    expect((await world.file({ once })).id).not.toBe(first.id);
  });

  it("and a day after its end, if it ran late", async () => {
    const world = createWorld();
    const { id } = await world.file({ once });
    await live(world, 3);
    await consume(world, "orders");
    await leap(world, 23 * HOUR);
    await expectRepeatIs(world, { once }, id);
    await leap(world, 2 * DAY);
    expect((await world.file({ once })).id).not.toBe(id);
  });
});

describe("a call that kept a job is remembered with its Idempotency-Key", () => {
  const kept = { key, delay: HOUR, onDuplicate: "keep", once } as const;
  /** Runs the job. Half a day later TTL deletes all items that it may delete. */
  const runToday = async (world: World): Promise<void> => {
    await world.tick();
    expect(await consume(world, "orders")).toHaveLength(1);
    await leap(world, 12 * HOUR);
  };

  it("as long as the job lives and a day longer, though the job is moved", async () => {
    const world = createWorld();
    const { id } = await world.file({ key, delay: HOUR });
    expect(await world.fileAll(kept)).toMatchObject({ outcome: "kept", home: { id } });
    await reschedule(world.ctx, id, { dueAt: world.now() + 30 * DAY });
    await leap(world, 30 * DAY);
    await expectRepeatIs(world, kept, id);
    await runToday(world);
    await expectRepeatIs(world, kept, id);
    expect(homes(world)).toHaveLength(1);
  });

  it("even if the job runs while it is kept, and asks to run again much later", async () => {
    const world = createWorld();
    const { id } = await world.file({ key });
    const run = async () => {
      await world.fileAll(kept);
      return { end: "retry-in", wait: 5 * DAY } as const;
    };
    await consume(world, "orders", { run });
    await leap(world, 5 * DAY);
    await runToday(world);
    await expectRepeatIs(world, kept, id);
  });

  it.each([
    ["moved", (world: World, id: string) => reschedule(world.ctx, id, { dueAt: world.now() + 30 * DAY })],
    [
      "replaced",
      (world: World) =>
        world.file({ key, delay: 30 * DAY, onDuplicate: "replace", once: { ...once, token: "u" } }),
    ],
  ])("even if the job is %s at the same time by a caller that has not read this note", async (_, change) => {
    const world = createWorld();
    const { id } = await world.file({ key, delay: HOUR });
    meanwhile(world, isLook, () => world.fileAll(kept));
    await change(world, id);
    await leap(world, 30 * DAY);
    await runToday(world);
    await expectRepeatIs(world, kept, id);
  });

  it("even if the end of a run is recorded at the same time by a process that has not read this note", async () => {
    const world = createWorld();
    const { id } = await world.file({ key });
    const run = () => {
      meanwhile(world, isLook, () => world.fileAll(kept));
      return { end: "retry-in", wait: 5 * DAY } as const;
    };
    await consume(world, "orders", { run });
    expect(await world.home(id)).toMatchObject({ state: "scheduled", revision: 1 });
    await leap(world, 5 * DAY);
    await runToday(world);
    await expectRepeatIs(world, kept, id);
  });

  it("even if its topic has been paused for long, and stays paused", async () => {
    const world = createWorld();
    await pauseTopic(world.ctx, "orders");
    const { id } = await world.file({ key, delay: HOUR });
    await live(world, 20);
    await world.fileAll(kept);
    await live(world, 12);
    await resume(world.ctx, "orders", undefined);
    await runToday(world);
    await expectRepeatIs(world, kept, id);
  });

  it("even if many calls keep the job at once: each is answered", async () => {
    const world = createWorld();
    const { id } = await world.file({ key, delay: HOUR });
    const calls = Array.from({ length: 40 }, (__, n) => ({ ...kept, once: { ...once, token: `${n}` } }));
    const answers = await Promise.all(calls.map((call) => world.fileAll(call)));
    for (const answer of answers) expect(answer).toMatchObject({ outcome: "kept", home: { id } });
    expect((await world.home(id)).once?.split("\n")).toHaveLength(10);
  });

  it("but a call without an Idempotency-Key writes nothing, and an event notes only its time", async () => {
    const world = createWorld();
    const { id } = await world.file({ key, delay: HOUR });
    const { once: _, ...plain } = kept;
    const calls = await callsOf(world, () => world.fileAll(plain));
    expect(calls.filter(({ operation }) => operation !== "read")).toEqual([]);
    const at = world.now();
    await world.fileAll({ ...kept, createdAt: at });
    expect(await world.home(id)).toMatchObject({ eventAt: at });
    expect(await world.home(id)).not.toHaveProperty("once");
  });
});

describe("a once item", () => {
  it("ends at its own time even if its job was cancelled long before it was due", async () => {
    const world = createWorld();
    const { id } = await world.file({ delay: 3 * DAY, once });
    await cancel(world.ctx, id);
    await world.pass(4 * DAY + HOUR, { ticks: false });
    expect((await world.file({ delay: HOUR, once })).id).not.toBe(id);
  });

  it("costs a job that is moved, or retried, within a day nothing", async () => {
    const world = createWorld();
    const { id } = await world.file({ delay: HOUR, once });
    const calls: string[] = [];
    world.pool.hooks.before = ({ keys }) => void calls.push(...keys.map(({ sk }) => sk));
    await reschedule(world.ctx, id, { dueAt: world.now() + 23 * HOUR });
    expect(calls).not.toContain("once");
  });

  it("that names another job by now is not changed by a redrive of the first job", async () => {
    const world = createWorld();
    const { id } = await world.file({ once });
    await consume(world, "orders", { run: () => ({ end: "buried", error: "x" }) });
    await world.pass(3 * DAY, { ticks: false });
    const second = await world.file({ once });
    const [before] = onceItems(world);
    await redrive(world.ctx, "orders", { ids: [id], max: 1, delay: 9 * DAY });
    expect(onceItems(world)).toEqual([before]);
    expect(namedBy(before)).toBe(second.id);
  });
});

it("a move reports that it cannot keep a newer version's once item for longer, and moves the job", async () => {
  const world = createWorld();
  const { id } = await world.file({ once });
  const written = { ...onceItems(world)[0], v: 2 } as SharedOnceItem;
  world.pool.put(written);
  await reschedule(world.ctx, id, { dueAt: world.now() + 3 * DAY });
  expect(await world.home(id)).toMatchObject({ dueAt: world.now() + 3 * DAY });
  expect(onceItems(world)).toEqual([written]);
  expect(world.events).toContainEqual(
    expect.objectContaining({
      type: "trouble",
      what: `keeping the once item of job ${id} for longer`,
      error: "its layout is version 2, and this code reads version 1",
    }),
  );
});

describe("a call with an Idempotency-Key that dies between the once item and the home", () => {
  const isHome = ({ operation, keys }: Call): boolean =>
    operation === "insert" && keys.some(({ sk }) => /^\d+#[^#]+$/.test(sk));

  /** Files a job whose home is not stored. Answers the id that the once item names. */
  async function dieBeforeHome(world: World, job: object = {}): Promise<string> {
    world.pool.hooks.before = (call) => {
      if (isHome(call)) throw new Error("the process died");
    };
    await expect(world.file({ once, ...job })).rejects.toThrow("not filed");
    delete world.pool.hooks.before;
    expect(homes(world)).toEqual([]);
    return namedBy(onceItems(world)[0]);
  }

  it("has written the two one after the other, in no transaction", async () => {
    const world = createWorld();
    const calls = await callsOf(world, () => world.file({ once }));
    const writes = calls.filter(({ operation }) => operation !== "read");
    expect(writes.map(({ operation, keys }) => [operation, keys[0]?.sk === "once"])).toEqual([
      ["insert", true],
      ["insert", false],
    ]);
  });

  it("is completed by a repeat, which stores the job under the same id", async () => {
    const world = createWorld();
    const id = await dieBeforeHome(world, { delay: HOUR });
    await world.pass(MINUTE);
    await expectRepeatIs(world, { once, delay: HOUR }, id);
    expect(homes(world)).toMatchObject([{ id, dueAt: world.now() + HOUR - MINUTE }]);
    await expectRepeatIs(world, { once, delay: HOUR }, id);
    await world.pass(HOUR);
    expect(await consume(world, "orders")).toHaveLength(1);
  });

  it("may store the job later than its repeat, and the job runs once", async () => {
    const world = createWorld();
    const repeated = Promise.withResolvers<Enqueued>();
    world.pool.hooks.before = async (call) => {
      if (!isHome(call)) return;
      delete world.pool.hooks.before;
      await world.pass(SECOND);
      repeated.resolve((await world.fileAll({ once })) as Enqueued);
    };
    const first = await world.fileAll({ once });
    const { home } = await repeated.promise;
    expect(first).toMatchObject({ outcome: "replayed", home: { id: home.id } });
    expect(await consume(world, "orders")).toHaveLength(1);
    expect(await consume(world, "orders")).toHaveLength(0);
  });

  it.each([LANDS_WITHIN, 90 * MINUTE, 23 * HOUR])(
    "is completed by a repeat after %i ms too, with the first due time",
    async (wait) => {
      const world = createWorld();
      const id = await dieBeforeHome(world, { delay: HOUR });
      await world.pass(wait);
      await expectRepeatIs(world, { once, delay: HOUR }, id);
      expect(homes(world)).toMatchObject([{ id, dueAt: world.now() - wait + HOUR }]);
      await world.pass(HOUR);
      expect(world.visible("orders")).toContainEqual(expect.objectContaining({ id }));
    },
  );

  it("is completed behind the audit's cursor: an audit sends the job again if its message is lost", async () => {
    const world = createWorld();
    // The place of the audit is written every fourth minute. From this minute on, it is written just before the repeat stores its jobs.
    await world.pass(23 * MINUTE + 50 * SECOND);
    const id = await dieBeforeHome(world);
    await world.pass(LANDS_WITHIN - SECOND);
    meanwhile(world, isHome, () => world.pass(59 * SECOND));
    await expectRepeatIs(world, { once }, id);
    for (const { audited } of cursors(world)) expect(audited > (homes(world)[0]?.sk ?? "")).toBe(true);
    world.queues.purge({ topic: "orders" });
    await world.pass(20 * MINUTE);
    expect(await consume(world, "orders")).toHaveLength(1);
  });

  it("is completed with the schedule of a far job", async () => {
    const world = createWorld({ longDelay: DAY / SECOND });
    const id = await dieBeforeHome(world, { delay: 3 * DAY });
    await expectRepeatIs(world, { once, delay: 3 * DAY }, id);
    expect(await world.home(id)).toMatchObject({ hasSchedule: true });
    expect(world.promotions.filed.has(id)).toBe(true);
  });

  it("may be completed by a slow repeat: no later repeat files a second job meanwhile", async () => {
    const world = createWorld();
    const id = await dieBeforeHome(world);
    await world.pass(LANDS_WITHIN - SECOND);
    let later: Promise<Enqueued> | undefined;
    meanwhile(world, isHome, async () => {
      await world.pass(2 * SECOND);
      later = world.fileAll({ once }) as Promise<Enqueued>;
      await later;
    });
    await expectRepeatIs(world, { once }, id);
    expect(await later).toMatchObject({ outcome: "replayed", home: { id } });
    expect(homes(world)).toHaveLength(1);
  });

  it("and a repeat is refused if the topic's rules refuse its job by now", async () => {
    const world = createWorld();
    await dieBeforeHome(world);
    const refusal = new MinutehandError("bad-request", "not allowed any more");
    await expect(world.file({ once, refusal })).rejects.toBe(refusal);
    expect(homes(world)).toEqual([]);
  });

  it("and a repeat with another request is refused", async () => {
    const world = createWorld();
    await dieBeforeHome(world);
    await expect(world.file({ once: { ...once, hash: "other" } })).rejects.toMatchObject({
      code: "idempotency-mismatch",
    });
    expect(homes(world)).toEqual([]);
  });
});

describe("a first call is answered as created", () => {
  /** Makes the pool repeat each insert of an item that `matches`, as after a lost answer. */
  function repeatInserts(world: World, matches: (item: object) => boolean): void {
    const { insert } = world.pool;
    world.pool.insert = async (items, by) => {
      const outcomes = await insert(items, by);
      return items.some(matches) ? insert(items, by) : outcomes;
    };
  }

  it.each([
    ["its once item", (item: object) => "hashes" in item],
    ["its home", (item: object) => "dueAt" in item],
  ])("if the answer to the write of %s was lost", async (_, matches) => {
    const world = createWorld({ longDelay: DAY / SECOND });
    repeatInserts(world, matches);
    const { outcome, home } = (await world.fileAll({ once, delay: 3 * DAY })) as Enqueued;
    expect(outcome).toBe("created");
    expect(world.promotions.filed.has(home.id)).toBe(true);
    expect(world.events).toContainEqual(expect.objectContaining({ type: "enqueued", id: home.id }));
  });
});

it("a job that was deleted long before the end of its once item does not block the Idempotency-Key", async () => {
  const world = createWorld();
  const { id } = await world.file({ delay: 30 * DAY, once });
  await cancel(world.ctx, id);
  await leap(world, DAY - MINUTE);
  await expectRepeatIs(world, { delay: 30 * DAY, once }, id);
  await leap(world, 8 * DAY);
  expect(homes(world)).toEqual([]);
  const again = await world.file({ delay: 30 * DAY, once });
  expect(again).toMatchObject({ state: "scheduled", dueAt: world.now() + 30 * DAY });
  expect(again.id).not.toBe(id);
});
