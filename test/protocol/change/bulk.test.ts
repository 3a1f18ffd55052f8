import { describe, expect, it } from "vitest";
import { MinutehandError } from "../../../src/core/errors.ts";
import type { Home } from "../../../src/core/home.ts";
import type { Key } from "../../../src/core/items.ts";
import { type MessageJob, parseMessage } from "../../../src/core/message.ts";
import { beforeTime } from "../../../src/core/position.ts";
import { type Bulk, type BulkRequest, beginBulk } from "../../../src/protocol/change/begin-bulk.ts";
import { type BulkPart, runBulk } from "../../../src/protocol/change/bulk.ts";
import { cancel } from "../../../src/protocol/change/cancel.ts";
import { cancelByEvent } from "../../../src/protocol/change/cancel-by-event.ts";
import { pauseTopic } from "../../../src/protocol/change/pause.ts";
import { redrive } from "../../../src/protocol/change/redrive.ts";
import { reschedule } from "../../../src/protocol/change/reschedule.ts";
import { enqueue } from "../../../src/protocol/file/enqueue.ts";
import { consume, crashWhileRunning } from "../../support/consume.ts";
import { dead, fail, isLook, key, meanwhile } from "../../support/scenes.ts";
import { breakOnce, createWorld, HOUR, MINUTE, SECOND, START, type World } from "../../support/world.ts";

type Asked = Partial<BulkRequest> & { from?: number; to?: number; dueAt?: number };

const requestOf = ({ from: _, to: __, dueAt: ___, ...asked }: Asked): BulkRequest => ({
  action: "cancel",
  topic: "orders",
  dryRun: false,
  ...asked,
});

function begin(
  { ctx }: World,
  { from = START, to = START + 2 * HOUR, dueAt, action = "cancel" }: Asked,
): Bulk {
  return beginBulk(ctx, action, { from, to }, dueAt);
}

/** Calls all parts of a bulk, and `between` after each. */
async function whole(world: World, asked: Asked, between = async () => {}): Promise<BulkPart[]> {
  const parts: BulkPart[] = [];
  let at: Bulk | undefined = begin(world, asked);
  while (at) {
    const part: BulkPart = await runBulk(world.ctx, requestOf(asked), at);
    parts.push(part);
    at = part.next;
    await between();
  }
  return parts;
}

async function only(world: World, asked: Asked): Promise<BulkPart> {
  const [part, ...more] = await whole(world, asked);
  expect(more).toEqual([]);
  return part as BulkPart;
}

async function filed(
  world: World,
  count: number,
  job: (index: number) => object = () => ({}),
): Promise<Home[]> {
  const homes = [];
  for (let i = 0; i < count; i++) homes.push(await world.file({ delay: HOUR + i, ...job(i) }));
  return homes;
}

const now = (world: World, homes: readonly Home[]): Promise<Home[]> =>
  Promise.all(homes.map(({ id }) => world.home(id)));
/** Whether a call reads the home by itself, not as one entry of a page. */
const isReadOf =
  (home: Home | undefined) =>
  ({ operation, keys }: { operation: string; keys: readonly Key[] }): boolean =>
    operation === "read" && keys.some(({ sk }) => sk === home?.sk);
const sum = (parts: readonly BulkPart[], name: "examined" | "matched" | "changed"): number =>
  parts.reduce((total, part) => total + part[name], 0);

describe("a bulk", () => {
  it("cancels the waiting jobs of a topic, a tag, a group and a range, and no others", async () => {
    const world = createWorld();
    const meant = { tag: "spring", group: "shop-1" };
    const [wanted] = await filed(world, 1, () => meant);
    const others = [
      await world.file({ delay: HOUR, ...meant, tag: "autumn" }),
      await world.file({ delay: HOUR, ...meant, group: "shop-2" }),
      await world.file({ delay: HOUR, ...meant, topic: "precise" }),
      await world.file({ delay: HOUR }),
      await world.file({ delay: 2 * HOUR, ...meant }),
      await world.file({ delay: MINUTE, ...meant }),
    ];
    const ended = await world.file({ delay: HOUR, ...meant });
    await cancel(world.ctx, ended.id);
    const part = await only(world, { ...meant, from: START + HOUR });
    expect(part).toEqual({
      examined: 6,
      matched: 1,
      changed: 1,
      skipped: {},
      errors: [],
      reached: START + 2 * HOUR,
    });
    expect((await world.home(wanted?.id ?? "")).state).toBe("cancelled");
    for (const home of await now(world, others)) expect(home.state).toBe("scheduled");
  });

  it("leaves running jobs as they are, and answers their number and their ids", async () => {
    const world = createWorld();
    const [running] = [await world.file({}), await world.file({ delay: HOUR })];
    const parts: BulkPart[] = [];
    await consume(world, "orders", {
      run: async () => {
        parts.push(await only(world, { dryRun: true }), await only(world, {}));
        return { end: "done" };
      },
    });
    const code = "job-running";
    for (const [i, changed] of [0, 1].entries())
      expect(parts[i]).toMatchObject({
        matched: 2,
        changed,
        skipped: { [code]: 1 },
        errors: [{ id: running.id }],
      });
    expect(await world.home(running.id)).toMatchObject({ state: "done" });
  });

  it("names ten of the jobs that it cannot change, and counts all of these", async () => {
    const world = createWorld();
    for (const home of await filed(world, 12)) world.pool.put({ ...home, untracked: true });
    const part = await only(world, {});
    expect(part).toMatchObject({ matched: 12, changed: 0, skipped: { "untracked-topic": 12 } });
    expect(part.errors).toHaveLength(10);
  });

  it.each(["cancel", "move", "run", "redrive"] as const)(
    "to %s, run dry, counts the same and writes nothing",
    async (action) => {
      const world = createWorld();
      for (let i = 0; i < 3; i++) await dead(world);
      await filed(world, 5);
      const asked = { action, ...(action === "move" ? { dueAt: START + 3 * HOUR } : {}) };
      await world.pass(SECOND);
      const before = world.pool.items();
      const dry = await only(world, { ...asked, dryRun: true });
      expect(world.pool.items()).toEqual(before);
      const { changed } = await only(world, asked);
      expect(dry).toMatchObject({ matched: action === "redrive" ? 3 : 5, changed: 0, skipped: {} });
      expect(changed).toBe(dry.matched);
    },
  );

  it("changes 500 jobs in a call, and the next call continues after them", async () => {
    const world = createWorld();
    const [ended, ...homes] = await filed(world, 1235, (i) => ({ delay: HOUR + 10 * i }));
    await cancel(world.ctx, ended?.id ?? "");
    const parts = await whole(world, {});
    expect(parts.map(({ matched }) => matched)).toEqual([500, 500, 234]);
    expect(sum(parts, "changed")).toBe(1234);
    expect(sum(parts, "examined")).toBe(1235);
    expect(parts.map(({ reached }) => reached)).toEqual([
      START + HOUR + 5000,
      START + HOUR + 10_000,
      START + 2 * HOUR,
    ]);
    for (const home of await now(world, homes)) expect(home.state).toBe("cancelled");
  });

  it("ends a call after 5 s", async () => {
    const world = createWorld();
    await filed(world, 300);
    world.pool.hooks.after = async ({ operation }) => {
      if (operation === "page") await world.pass(SECOND, { ticks: false });
    };
    const [first, ...parts] = await whole(world, { action: "cancel" });
    expect(first).toMatchObject({ next: { position: expect.any(String) } });
    expect(sum([first as BulkPart, ...parts], "changed")).toBe(300);
  });

  it("goes on when one job cannot be changed, and names it", async () => {
    const world = createWorld();
    const [, broken] = await filed(world, 3);
    world.pool.hooks.before = ({ operation, keys }) => {
      if (operation === "changeMany" && keys.some(({ sk }) => sk.includes(broken?.id ?? "")))
        throw new MinutehandError("unavailable", "throttled");
    };
    expect(await only(world, {})).toMatchObject({
      matched: 3,
      changed: 2,
      skipped: { unavailable: 1 },
      errors: [{ id: broken?.id, error: { code: "unavailable" } }],
    });
  });

  it("leaves alone jobs that others filed or moved after it began, later by more than clocks may differ", async () => {
    const world = createWorld();
    const [early, moved, retried] = await filed(world, 3);
    const asked = {};
    const at = begin(world, asked);
    const ahead = world.skewed(15 * SECOND);
    const job = { topic: "orders", body: "{}", dueAt: START + HOUR };
    const { home: justFiled } = await enqueue(ahead, job);
    await world.pass(16 * SECOND, { ticks: false });
    const late = await world.file({ delay: HOUR });
    const put = (home: Home | undefined, changes: object) =>
      world.pool.put({ ...(home as Home), ...changes });
    const { dueAt = 0 } = retried ?? {};
    await reschedule(world.ctx, moved?.id ?? "", { dueAt: START + HOUR + MINUTE });
    put(retried, { wantedAt: START, log: [{ what: "moved", at: world.now(), dueAt }] });
    expect((await runBulk(world.ctx, requestOf(asked), at)).changed).toBe(3);
    const states = (await now(world, [early, justFiled, retried, moved, late] as Home[])).map(
      ({ state }) => state,
    );
    expect(states).toEqual(["cancelled", "cancelled", "cancelled", "scheduled", "scheduled"]);
  });
});

describe("a part of a bulk that is sent again", () => {
  it.each([
    ["cancel", {}],
    ["run", {}],
    ["run", { ratePerSecond: 1 }],
    ["move", { dueAt: START + 90 * MINUTE }],
    ["move", { dueAt: START + HOUR }],
  ] as const)(
    "to %s %j answers the jobs that it changed, and those that its last try found",
    async (action, more) => {
      const world = createWorld();
      const homes = await filed(world, 9, (i) => (i % 3 === 0 ? { key: `${i}` } : {}));
      // Two jobs also have their home in the range, although they are not due there any more.
      await reschedule(world.ctx, homes[1]?.id ?? "", { dueAt: START + HOUR + 30 * MINUTE });
      await reschedule(world.ctx, homes[2]?.id ?? "", { dueAt: START + 10 * MINUTE });
      const asked = { action, ...more };
      const at = begin(world, asked);
      const first = await runBulk(world.ctx, requestOf(asked), at);
      expect(first).toMatchObject({ matched: 9, changed: 9, skipped: {} });
      await world.file({ delay: HOUR });
      expect(await runBulk(world.ctx, requestOf(asked), at)).toMatchObject({ matched: 10, changed: 10 });
    },
  );

  it.each([
    ["cancel", {}],
    ["run", {}],
    ["move", { dueAt: START + 50 * MINUTE }],
  ] as const)(
    "to %s %j while its first try runs counts a job once that both have met",
    async (action, more) => {
      const world = createWorld();
      const home = await world.file({ delay: 90 * MINUTE });
      await reschedule(world.ctx, home.id, { dueAt: START + 10 * MINUTE });
      const asked = { action, ...more };
      const at = begin(world, asked);
      let second: BulkPart | undefined;
      // Between the entry at which the job is due and its home, where the first try meets it again.
      world.pool.hooks.after = async ({ operation, keys }) => {
        if (operation !== "read" || !keys.some(({ pk }) => pk === home.pk)) return;
        delete world.pool.hooks.after;
        second = await runBulk(world.ctx, requestOf(asked), at);
      };
      const first = await runBulk(world.ctx, requestOf(asked), at);
      for (const part of [first, second]) expect(part).toMatchObject({ matched: 1, changed: 1 });
    },
  );

  it.each(["run", "move", "redrive"] as const)(
    "to %s leaves it to a tick to send the jobs that its last try moved but did not send",
    async (action) => {
      const { world, asked, ids } = await twoFor(
        action,
        action === "move" ? { dueAt: START + 10 * SECOND } : {},
      );
      const at = begin(world, asked);
      breakOnce(world, "after", isChangeOf(ids[1]));
      await expect(runBulk(world.ctx, requestOf(asked), at)).rejects.toThrow("crash");
      await runBulk(world.ctx, requestOf(asked), at);
      expect(sentIds(world)).toEqual([ids[0]]);
      await world.pass(16 * MINUTE);
      expect((await consume(world, "orders")).map(({ id }) => id).sort()).toEqual([...ids].sort());
    },
  );

  /** Makes a first call that moves two of each three jobs, and a second call. Answers the second answer. */
  const twice = async (
    world: World,
    asked: Asked,
    homes: readonly Home[],
    between: () => Promise<unknown>,
  ) => {
    const refused = homes.filter((_, i) => i % 3 === 0).map(({ id }) => isChangeOf(id));
    world.pool.hooks.before = (call) => {
      if (refused.some((isIt) => isIt(call))) throw new MinutehandError("unavailable", "throttled");
    };
    const at = begin(world, asked);
    const first = await runBulk(world.ctx, requestOf(asked), at);
    expect(first).toMatchObject({ changed: 333, skipped: { unavailable: 167 } });
    delete world.pool.hooks.before;
    await between();
    const second = await runBulk(world.ctx, requestOf(asked), at);
    expect(second.skipped).toEqual({});
    return second;
  };

  it.each([
    { action: "run", ratePerSecond: 1 },
    { action: "move", ratePerSecond: 1, dueAt: START + 5 * MINUTE },
  ] as const)(
    "gives at most two starts of its rate a second to the jobs that were left, and to those of later parts: %j",
    async (asked) => {
      const world = createWorld();
      const homes = await filed(world, 600);
      const { next } = await twice(world, asked, homes, () => world.pass(2500, { ticks: false }));
      expect(await runBulk(world.ctx, requestOf(asked), next as Bulk)).not.toHaveProperty("next");
      const moved = await now(world, homes);
      for (const { revision } of moved) expect(revision).toBe(1);
      const starts = moved.map(({ wantedAt }) => wantedAt).sort((a, b) => a - b);
      const afterTwo = starts.slice(2).map((start, i) => start - (starts[i] ?? 0));
      expect(Math.min(...afterTwo)).toBeGreaterThanOrEqual(SECOND);
    },
  );

  it("starts the jobs of later parts in time, although a job has been moved far ahead since", async () => {
    const world = createWorld();
    const homes = await filed(world, 600);
    const asked = { action: "run", ratePerSecond: 1 } as const;
    const { next } = await twice(world, asked, homes, () =>
      reschedule(world.ctx, homes[1]?.id ?? "", { dueAt: START + 24 * HOUR }),
    );
    expect(next?.nextAt).toBeLessThan(START + 11 * MINUTE);
  });

  describe("at a rate gives no start to more than two jobs", () => {
    const asked = { action: "run", ratePerSecond: 10, from: START + HOUR, to: START + 3 * HOUR } as const;
    const each = async (world: World, count: number, delay: number, every: number): Promise<string[]> => {
      const ids = [];
      for (let i = 0; i < count; i++) ids.push((await world.file({ delay: delay + i * every })).id);
      return ids;
    };
    const mostInASecond = async (world: World, ids: readonly string[]): Promise<number> => {
      const homes = await Promise.all(ids.map((id) => world.home(id)));
      const bySecond = Map.groupBy(homes, ({ dueAt }) => Math.floor(dueAt / SECOND));
      return Math.max(...[...bySecond.values()].map((at) => at.length));
    };

    it("where its starts cross the closing of a window and a slower call repeats its first part", async () => {
      const world = createWorld({ shards: 8, topics: { orders: { window: "08:00-09:30 UTC" } } });
      const ids = await each(world, 460, 48 * HOUR, 3 * MINUTE);
      let reads = 0;
      let latency = 10;
      world.pool.hooks.before = async ({ operation }) => {
        if (operation === "page" && ++reads % 32 === 0) await world.pass(latency, { ticks: false });
      };
      const slow = { action: "run", ratePerSecond: 0.1 } as const;
      const at = begin(world, { ...slow, from: START + 48 * HOUR, to: START + 71 * HOUR });
      await runBulk(world.ctx, requestOf(slow), at);
      latency = 12;
      let part = await runBulk(world.ctx, requestOf(slow), at);
      while (part.next) part = await runBulk(world.ctx, requestOf(slow), part.next);
      const homes = await Promise.all(ids.map((id) => world.home(id)));
      const starts = homes.map(({ wantedAt }) => wantedAt).sort((a, b) => a - b);
      const intervals = starts.slice(1).map((start, j) => start - (starts[j] ?? 0));
      expect(homes.every(({ revision }) => revision === 1)).toBe(true);
      expect(Math.min(...intervals)).toBeGreaterThanOrEqual(10 * SECOND - 1);
    });

    it("when a page of jobs has been filed since", async () => {
      const world = createWorld();
      const ids = await each(world, 400, HOUR + MINUTE, SECOND);
      const at = beginBulk(world.ctx, "run", asked);
      await runBulk(world.ctx, requestOf(asked), at);
      await world.pass(10 * SECOND, { ticks: false });
      ids.push(...(await each(world, 200, HOUR + 50 * SECOND, 2 * SECOND)));
      let again: Bulk | undefined = { ...beginBulk(world.ctx, "run", asked), id: at.id };
      while (again) again = (await runBulk(world.ctx, requestOf(asked), again)).next;
      expect(await mostInASecond(world, ids)).toBeLessThanOrEqual(20);
    });

    it("when DynamoDB throttled some hundred jobs before", async () => {
      const world = createWorld();
      const ids = await each(world, 500, HOUR + MINUTE, SECOND);
      const at = begin(world, asked);
      const hot = ids.slice(0, 200).map(isChangeOf);
      world.pool.hooks.before = (call) => {
        if (hot.some((isIt) => isIt(call))) throw new MinutehandError("unavailable", "throttled");
      };
      expect((await runBulk(world.ctx, requestOf(asked), at)).skipped).toEqual({ unavailable: 200 });
      delete world.pool.hooks.before;
      await world.pass(10 * SECOND, { ticks: false });
      expect((await runBulk(world.ctx, requestOf(asked), at)).changed).toBe(500);
      expect(await mostInASecond(world, ids)).toBeLessThanOrEqual(20);
    });
  });

  it("does not count jobs that another bulk has changed", async () => {
    const world = createWorld();
    await filed(world, 5);
    await only(world, {});
    expect(await only(world, {})).toMatchObject({ matched: 0, changed: 0 });
  });
});

/** Two jobs that a bulk is to change, the second one with a key if asked. */
async function twoFor(
  action: "run" | "move" | "redrive",
  { dueAt, ...more }: { dueAt?: number; key?: string },
): Promise<{ world: World; asked: Asked; ids: string[] }> {
  const world = createWorld();
  const file = (job: object) =>
    action === "redrive" ? dead(world, job) : world.file({ delay: HOUR, ...job });
  const homes = [await file({})];
  await world.pass(1, { ticks: false });
  homes.push(await file(more));
  await world.pass(1, { ticks: false });
  const asked = { action, ...(dueAt === undefined ? {} : { dueAt }) };
  return { world, asked, ids: homes.map(({ id }) => id) };
}

const isChangeOf =
  (id = "") =>
  ({ operation, keys }: { operation: string; keys: readonly Key[] }): boolean =>
    ["change", "transact"].includes(operation) && keys.some(({ sk }) => sk.endsWith(id));
const sent = (world: World): MessageJob[] =>
  world.queues.messages({ topic: "orders" }).flatMap(({ body }) => parseMessage(body)?.jobs ?? []);
const sentIds = (world: World): string[] => sent(world).map(({ id }) => id);

describe("a change of a bulk that gets no answer", () => {
  it.each(["run", "move"] as const)(
    "is unknown, and counts when the part is sent again: %s",
    async (action) => {
      const world = createWorld();
      const [, lost] = await filed(world, 2);
      const asked = { action, ...(action === "move" ? { dueAt: START + 2 * HOUR } : {}) };
      const at = begin(world, asked);
      loseAnswerOf(world, lost?.id);
      const unknown = { matched: 2, changed: 1, skipped: { unavailable: 1 }, errors: [{ id: lost?.id }] };
      expect(await runBulk(world.ctx, requestOf(asked), at)).toMatchObject(unknown);
      expect(await runBulk(world.ctx, requestOf(asked), at)).toMatchObject({ changed: 2, skipped: {} });
    },
  );

  it("that was never made stays unknown, and nothing is sent", async () => {
    const { world, asked, ids } = await twoFor("run", {});
    world.pool.hooks.before = (call) => {
      if (isChangeOf(ids[1])(call)) throw new MinutehandError("unavailable", "throttled");
    };
    const part = await runBulk(world.ctx, requestOf(asked), begin(world, asked));
    expect(part).toMatchObject({ changed: 1, skipped: { unavailable: 1 } });
    expect(sentIds(world)).toEqual([ids[0]]);
  });
});

function loseAnswerOf(world: World, id: string | undefined): void {
  world.pool.hooks.after = (call) => {
    if (!isChangeOf(id)(call)) return;
    delete world.pool.hooks.after;
    throw new MinutehandError("unavailable", "the answer is lost");
  };
}

describe("a bulk leaves alone a job that", () => {
  const anew = { cancel: {}, move: { dueAt: START + 3 * HOUR } } as const;
  const atEachCall = (world: World): void => {
    world.pool.hooks.before = () => world.pass(1, { ticks: false });
  };

  it("others have moved to now since it began, however long their calls took", async () => {
    const world = createWorld();
    const [moved] = await filed(world, 1);
    const died = await dead(world, { key });
    await pauseTopic(world.ctx, "orders");
    const at = begin(world, {});
    await world.pass(30 * SECOND, { ticks: false });
    atEachCall(world);
    await reschedule(world.ctx, moved?.id ?? "", { dueAt: world.now() });
    await redrive(world.ctx, "orders", { ids: [died.id], max: 1, delay: 0 });
    expect(await runBulk(world.ctx, requestOf({}), at)).toMatchObject({ matched: 0 });
  });

  it("another caller cancels between the read and the write, and its repeat says the same", async () => {
    const world = createWorld();
    const [theirs] = await filed(world, 3);
    const at = begin(world, {});
    meanwhile(
      world,
      ({ operation }) => operation === "changeMany",
      () => cancel(world.ctx, theirs?.id ?? ""),
    );
    const first = await runBulk(world.ctx, requestOf({}), at);
    expect(first).toMatchObject({ matched: 2, changed: 2, skipped: {} });
    expect(await runBulk(world.ctx, requestOf({}), at)).toEqual(first);
  });

  it("a retry has given another time between the read and the write of a shift", async () => {
    const world = createWorld();
    const [home] = await filed(world, 1, () => ({ delay: 0 }));
    const asked = { action: "move", shift: HOUR, from: START - HOUR } as const;
    const at = begin(world, asked);
    meanwhile(world, isReadOf(home), () => consume(world, "orders", { run: fail }));
    expect(await runBulk(world.ctx, requestOf(asked), at)).toMatchObject({
      matched: 0,
      changed: 0,
      skipped: {},
    });
    const retried = await world.home(home?.id ?? "");
    expect(retried).toMatchObject({ attempt: 1, revision: 1 });
    expect(retried.dueAt).toBeLessThan(START + MINUTE);
  });

  it("an event has filed since it began, though the event happened before", async () => {
    const world = createWorld();
    const at = begin(world, {});
    await world.pass(30 * SECOND, { ticks: false });
    await filed(world, 1, () => ({ createdAt: START - MINUTE }));
    expect(await runBulk(world.ctx, requestOf({}), at)).toMatchObject({ examined: 1, matched: 0 });
  });

  it.each([
    ["cancel", 0],
    ["cancel", 4],
    ["move", 0],
    ["move", 4],
  ] as const)(
    "another caller asks for between the read and the write of a bulk to %s, by a clock that is %i s behind",
    async (action, behind) => {
      const world = createWorld();
      const [moved, other] = await filed(world, 2);
      await world.pass(MINUTE, { ticks: false });
      const at = begin(world, { action, ...anew[action] });
      await world.pass(behind === 0 ? 30 * SECOND : SECOND, { ticks: false });
      const elsewhere = { ...world.ctx, clock: () => world.now() - behind * SECOND };
      meanwhile(world, isReadOf(moved), () =>
        reschedule(elsewhere, moved?.id ?? "", { dueAt: START + 4 * HOUR }),
      );
      const part = await runBulk(world.ctx, requestOf({ action }), at);
      expect(part).toMatchObject({ matched: 1, changed: 1, skipped: {} });
      const later = { state: "scheduled", dueAt: START + 4 * HOUR };
      expect(await world.home(moved?.id ?? "")).toMatchObject(later);
      expect((await world.home(other?.id ?? "")).revision).toBe(action === "move" ? 1 : 0);
    },
  );
});

describe("a bulk that moves", () => {
  const target = START + 90 * MINUTE;

  it.each([undefined, 1, 7, 1000])("into its own range at %s a second moves each job once", async (rate) => {
    const world = createWorld();
    const homes = await filed(world, 1100, (i) => ({ delay: HOUR + i * SECOND }));
    const asked: Asked = {
      action: "move",
      dueAt: target,
      ...(rate === undefined ? {} : { ratePerSecond: rate }),
    };
    const parts = await whole(world, asked, () => world.pass(MINUTE, { ticks: false }));
    expect(sum(parts, "changed")).toBe(1100);
    const moved = await now(world, homes);
    for (const { revision } of moved) expect(revision).toBe(1);
    const starts = moved.map(
      ({ dueAt }, i) => dueAt - (rate === undefined ? 0 : Math.round((i * 1000) / rate)),
    );
    for (const start of starts) expect(Math.abs(start - target)).toBeLessThanOrEqual(parts.length);
  });

  it("sends no job twice although its later pages and parts meet the job again at its new time", async () => {
    const world = createWorld();
    const homes = await filed(world, 600, (i) => ({ delay: MINUTE + i }));
    // Near, and ahead of its place.
    const parts = await whole(world, { action: "move", dueAt: START + 3 * MINUTE });
    expect(parts).toHaveLength(2);
    expect(sent(world).filter(({ revision }) => revision === 1)).toHaveLength(homes.length);
  });

  it("moves nothing twice when a part is repeated, after that part or at the same time", async () => {
    const world = createWorld();
    const homes = await filed(world, 60);
    const asked: Asked = { action: "move", dueAt: target, ratePerSecond: 1 };
    const at = begin(world, asked);
    const part = () => runBulk(world.ctx, requestOf(asked), at);
    await Promise.all([part(), part()]);
    expect(await part()).toMatchObject({ matched: 60, changed: 60 });
    for (const { revision } of await now(world, homes)) expect(revision).toBe(1);
  });

  it.each([
    ["by another bulk", { action: "run" }],
    ["by nine others", { action: "move", dueAt: START + 90 * MINUTE }],
  ] as const)(
    "moves nothing twice when it is begun again after its jobs were moved %s",
    async (who, asked) => {
      const world = createWorld();
      const homes = await filed(world, 5);
      const first: Asked = { action: "move", dueAt: target };
      const range = { from: START, to: START + 2 * HOUR };
      const part = () => {
        const begun = { ...beginBulk(world.ctx, "move", range, target), id: "same-key" };
        return runBulk(world.ctx, requestOf(first), begun);
      };
      const others = who === "by another bulk" ? 1 : 9;
      await part();
      for (let i = 0; i < others; i++) {
        await world.pass(20 * SECOND, { ticks: false });
        await whole(world, asked);
      }
      await world.pass(20 * SECOND, { ticks: false });
      expect(await part()).toMatchObject({ matched: 5, changed: 5 });
      for (const { revision } of await now(world, homes)) expect(revision).toBe(1 + others);
    },
  );

  it("moves nothing twice when a repeat of a part begins later and overtakes it", async () => {
    const world = createWorld();
    const homes = await filed(world, 60);
    const asked = { action: "run", ratePerSecond: 10 } as const;
    const at = begin(world, asked);
    const part = () => runBulk(world.ctx, requestOf(asked), at);
    meanwhile(world, isLook, async () => {
      await world.pass(SECOND, { ticks: false });
      await part();
    });
    await part();
    for (const { revision } of await now(world, homes)) expect(revision).toBe(1);
  });

  it.each([
    ["move", false],
    ["move", true],
    ["run", false],
    ["cancel", false],
  ] as const)(
    "revives no crashed run that an event has cancelled: %s, during the bulk: %s",
    async (action, late) => {
      const world = createWorld();
      const { id } = await world.file({ key });
      await crashWhileRunning(world, "orders");
      const mark = () =>
        cancelByEvent(late ? world.skewed(-20 * SECOND) : world.ctx, {
          id: "e",
          topic: "orders",
          key,
          at: START,
          until: START,
        });
      if (!late) await mark();
      await world.pass(MINUTE, { ticks: false });
      if (late) meanwhile(world, isLook, mark);
      const asked = { action, from: START, to: START + HOUR, dueAt: world.now() + HOUR };
      // A bulk that runs jobs begins with those that are due from now on, so the range is set here.
      const bulk = { ...begin(world, asked), from: START, position: beforeTime(START) };
      const dry = await runBulk(world.ctx, requestOf({ ...asked, dryRun: true }), bulk);
      const part = await runBulk(world.ctx, requestOf(asked), bulk);
      const ends = action === "cancel";
      expect(part).toMatchObject({
        matched: 1,
        changed: ends ? 1 : 0,
        skipped: ends ? {} : { "job-finished": 1 },
      });
      if (!late) expect(dry.skipped).toEqual(part.skipped);
      expect(await consume(world, "orders")).toEqual([]);
      expect(await world.home(id)).toMatchObject({ state: "cancelled" });
    },
  );

  it("leaves alone what was filed while its topic was untracked", async () => {
    const world = createWorld();
    const [home] = await filed(world, 1);
    world.pool.put({ ...(home as Home), untracked: true });
    for (const dryRun of [true, false]) {
      for (const asked of [{ action: "move", dueAt: target }, { action: "cancel" }] as const) {
        const part = await only(world, { ...asked, dryRun });
        expect(part).toMatchObject({ changed: 0, skipped: { "untracked-topic": 1 } });
      }
    }
  });

  it("continues with the same part after a crash", async () => {
    const world = createWorld();
    const homes = await filed(world, 60);
    const asked: Asked = { action: "move", dueAt: target };
    const at = begin(world, asked);
    let changes = 0;
    world.pool.hooks.after = ({ operation }) => {
      if (operation === "change" && ++changes > 20) throw new Error("crash");
    };
    await expect(runBulk(world.ctx, requestOf(asked), at)).rejects.toThrow("crash");
    delete world.pool.hooks.after;
    const part = await runBulk(world.ctx, requestOf(asked), at);
    expect(part).toMatchObject({ matched: 60, changed: 60 });
    expect(part).not.toHaveProperty("next");
    for (const home of await now(world, homes)) expect(home).toMatchObject({ revision: 1, dueAt: target });
  });

  it("does not move a job again that it has moved and that now waits for its retry", async () => {
    const world = createWorld();
    const homes = await filed(world, 600, (i) => ({ delay: 4 * MINUTE + 5 * i }));
    const asked = { action: "run" } as const;
    const at = begin(world, asked);
    const first = await runBulk(world.ctx, requestOf(asked), at);
    expect(first).toMatchObject({ changed: 500 });
    for (let i = 0; i < 50; i++) await consume(world, "orders", { run: fail });
    await world.pass(30 * SECOND, { ticks: false });
    for (let i = 0; i < 50; i++) await consume(world, "orders", { run: fail });
    const failed = (await now(world, homes)).filter(({ attempt }) => attempt === 2);
    expect(failed).toHaveLength(500);
    // Their next attempts are due at times that the bulk has not reached yet.
    const far = await world.file({ delay: 5 * MINUTE });
    const rest = await runBulk(world.ctx, requestOf(asked), first.next as Bulk);
    expect(rest.changed).toBe(100);
    expect((await world.home(far.id)).revision).toBe(0);
    expect(await now(world, failed)).toEqual(failed);
  });

  it("gives starts at its rate over all parts, and none that has passed while no call continued it", async () => {
    const world = createWorld();
    const homes = await filed(world, 1000);
    const asked = { action: "run", ratePerSecond: 10 } as const;
    let parts = 0;
    await whole(world, asked, async () => {
      if (parts++ === 0) await world.pass(10 * MINUTE, { ticks: false });
    });
    const starts = (await now(world, homes)).map(({ dueAt }) => dueAt);
    const begins = [START, START + 10 * MINUTE];
    expect(starts).toEqual(begins.flatMap((begin) => Array.from({ length: 500 }, (_, i) => begin + i * 100)));
  });

  it("never gives a start further ahead than a job may lie", async () => {
    const world = createWorld();
    const homes = await filed(world, 2);
    await only(world, { action: "move", dueAt: START + 3660 * 24 * HOUR - 1, ratePerSecond: 0.001 });
    const starts = (await now(world, homes)).map(({ dueAt }) => dueAt);
    expect(Math.max(...starts)).toBe(START + 3660 * 24 * HOUR);
  });

  it("to now leaves alone jobs that are due already", async () => {
    const world = createWorld();
    const due = await world.file({});
    const [later] = await filed(world, 1);
    await world.pass(MINUTE, { ticks: false });
    expect(await only(world, { action: "run" })).toMatchObject({ matched: 1, changed: 1 });
    expect(await world.home(later?.id ?? "")).toMatchObject({ dueAt: world.now(), revision: 1 });
    expect((await world.home(due.id)).revision).toBe(0);
  });
});

describe("a bulk that redrives", () => {
  const asked = { action: "redrive" } as const;

  it("takes the dead of a tag and a group, of a range of time, and no others", async () => {
    const world = createWorld();
    const early = await dead(world, { tag: "spring" });
    await world.pass(MINUTE);
    const meant = [await dead(world, { tag: "spring" }), await dead(world, { tag: "spring" })];
    await dead(world, { tag: "autumn" });
    await world.pass(SECOND, { ticks: false });
    const part = await only(world, { ...asked, tag: "spring", from: START + MINUTE });
    expect(part).toMatchObject({ examined: 3, matched: 2, changed: 2 });
    for (const home of await now(world, meant))
      expect(home).toMatchObject({ state: "scheduled", attempt: 0 });
    expect((await world.home(early.id)).state).toBe("dead");
  });

  it("leaves alone jobs that died since it began, even jobs that it redrove itself, or that died after its range", async () => {
    const world = createWorld();
    const homes = [await dead(world), await dead(world)];
    await world.pass(SECOND, { ticks: false });
    const at = begin(world, asked);
    const part = () => runBulk(world.ctx, requestOf(asked), at);
    expect((await part()).changed).toBe(2);
    for (let i = 0; i < 2; i++) await consume(world, "orders", { run: fail });
    await dead(world);
    for (const home of await now(world, homes)) expect(home).toMatchObject({ state: "dead", revision: 1 });
    expect(await part()).toMatchObject({ examined: 0, matched: 0 });
    await world.pass(SECOND, { ticks: false });
    expect((await only(world, { ...asked, to: START + SECOND })).matched).toBe(0);
    expect((await only(world, asked)).matched).toBe(3);
  });

  it("skips a job whose key now names another job, and counts as done a job that another call has redriven", async () => {
    const world = createWorld();
    const old = await dead(world, { key });
    const other = await dead(world);
    await world.file({ key, delay: HOUR });
    await world.pass(SECOND, { ticks: false });
    world.pool.hooks.before = async ({ operation, keys }) => {
      if (operation !== "insert" || !keys.some(({ sk }) => sk.includes(other.id))) return;
      delete world.pool.hooks.before;
      await redrive(world.ctx, "orders", { ids: [other.id], max: 1, delay: 0 });
    };
    expect(await only(world, asked)).toMatchObject({
      matched: 2,
      changed: 1,
      skipped: { "job-already-exists": 1 },
      errors: [{ id: old.id }],
    });
    expect(await world.home(other.id)).toMatchObject({ revision: 1 });
  });

  it("keeps its rate over all parts", async () => {
    const world = createWorld();
    const homes: Home[] = [];
    for (let i = 0; i < 510; i++) homes.push(await dead(world));
    await world.pass(SECOND, { ticks: false });
    const parts = await whole(world, { ...asked, ratePerSecond: 100 });
    expect(parts.map(({ changed }) => changed)).toEqual([500, 10]);
    const starts = (await now(world, homes)).map(({ dueAt }) => dueAt).sort((a, b) => a - b);
    expect(starts).toEqual(starts.map((_, i) => world.now() + i * 10));
  });
});
