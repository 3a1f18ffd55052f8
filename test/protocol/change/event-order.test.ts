import { describe, expect, it } from "vitest";
import { CLOCK_MARGIN } from "../../../src/core/constants.ts";
import type { Home } from "../../../src/core/home.ts";
import type { Item } from "../../../src/core/items.ts";
import { redrive } from "../../../src/protocol/change/redrive.ts";
import { enqueue } from "../../../src/protocol/file/enqueue.ts";
import type { Ending } from "../../../src/protocol/run/settle.ts";
import type { EnqueueRule, EventRule } from "../../../src/settings/event-rules.ts";
import { busEvent, deliver, paid } from "../../support/bus.ts";
import { consume, crashWhileRunning } from "../../support/consume.ts";
import { type Call, dead, fail, isAt, isLook, key, meanwhile } from "../../support/scenes.ts";
import { createWorld, HOUR, SECOND, START, type World } from "../../support/world.ts";

type Duplicates = Pick<EnqueueRule, "onDuplicate" | "maxDelay">;

/** What an event that files does to a live job: keeps it, replaces it, or postpones it within a bound. */
const WAYS: [string, Duplicates][] = [
  ["keep", { onDuplicate: "keep" }],
  ["replace", { onDuplicate: "replace" }],
  ["postpone", { onDuplicate: "postpone", maxDelay: 10 * 86_400 }],
];

const shop = (): World =>
  createWorld({ topics: { orders: { cancelledByEvents: true, maxAttempts: 3, backoff: { waits: [15] } } } });
const placedBy = (ways: Duplicates, delay: number): EnqueueRule => ({
  topic: "orders",
  do: "enqueue",
  detailType: "OrderPlaced",
  key: "$.detail.orderId",
  body: "$.detail.n",
  delay,
  ...ways,
});
/** An event such as `P10` or `D10`: it happened 10 s after the start. `P` files a job with the event's name, and `D` cancels. */
function eventOf(name: string): string {
  const detail = { orderId: key, n: name };
  const kind = name.startsWith("P") ? { "detail-type": "OrderPlaced" } : {};
  return busEvent(START + Number(name.slice(1)) * SECOND, { id: name, detail, ...kind });
}
/** Delivers an event. Answers the indices of the messages that stay in the queue. */
const tell = (world: World, rules: readonly EventRule[], name: string, receives = 1) =>
  deliver(world, rules, [eventOf(name)], receives);
const isLive = (item: Item): item is Home =>
  "state" in item && (item.state === "scheduled" || item.state === "running");
const live = (world: World): Home[] => world.pool.items().filter(isLive);
const bodies = (world: World): string[] => live(world).map(({ body }) => JSON.parse(body) as string);

function orders<T>(things: readonly T[]): T[][] {
  if (things.length < 2) return [[...things]];
  return things.flatMap((thing, i) => orders(things.toSpliced(i, 1)).map((rest) => [thing, ...rest]));
}

describe.each(WAYS)("an event with %s that meets a caller's job", (_, ways) => {
  const filedAfter = async (seconds: number) => {
    const world = shop();
    await world.pass(seconds * SECOND, { ticks: false });
    await enqueue(world.ctx, { topic: "orders", key, body: '"caller"', dueAt: world.now() + HOUR });
    return { world, rules: [placedBy(ways, 2 * 3600), paid] };
  };

  it.each([[["P0"]], [["P0", "D5"]], [["D5", "P0"]]])(
    "leaves the job as it is if the job was filed later: %j",
    async (names) => {
      const { world, rules } = await filedAfter(3600);
      for (const name of names) expect(await tell(world, rules, name)).toEqual([]);
      expect(bodies(world)).toEqual(["caller"]);
    },
  );

  it("files no job after a later event that cancels the job at the same time", async () => {
    const { world, rules } = await filedAfter(10);
    meanwhile(world, isAt("once#", "transact"), () => tell(world, rules, "D5"));
    expect(await tell(world, rules, "P0")).toEqual([]);
    expect(bodies(world)).toEqual([]);
  });

  it("changes the job at the same time as a later event cancels it", async () => {
    const { world, rules } = await filedAfter(10);
    meanwhile(world, isAt("tombstone#", "transact"), () => tell(world, rules, "P0"));
    expect(await tell(world, rules, "D5")).toEqual([]);
    expect(bodies(world)).toEqual([]);
  });
});

it.each(WAYS.slice(1))(
  "an event with %s changes a job even if an old rule has left a tombstone",
  async (_, ways) => {
    const world = shop();
    await tell(world, [paid], "D0");
    await world.pass(HOUR, { ticks: false });
    const { cancelledByEvents: __, ...orders } = world.ctx.policy.topics.orders ?? {};
    const deployed: World = {
      ...world,
      ctx: { ...world.ctx, policy: { ...world.ctx.policy, topics: { orders } } },
    };
    const rules = [placedBy(ways, 86_400)];
    expect(await tell(deployed, rules, "P3601")).toEqual([]);
    expect(await tell(deployed, rules, "P3602")).toEqual([]);
    expect(bodies(world)).toEqual(["P3602"]);
  },
);

it.each(WAYS.slice(1))(
  "an event with %s, delivered twice at once, changes a job once, with one try for each delivery",
  async (_, ways) => {
    const world = shop();
    await enqueue(world.ctx, { topic: "orders", key, body: '"caller"', dueAt: world.now() + 60 * SECOND });
    const rules = [placedBy(ways, 10)];
    let tries = 0;
    world.pool.hooks.before = async ({ operation }) => {
      if (operation !== "transact" || ++tries > 1) return;
      await world.pass(SECOND, { ticks: false });
      await tell(world, rules, "P0");
    };
    expect(await tell(world, rules, "P0")).toEqual([]);
    expect(tries).toBe(2);
    expect(live(world)).toMatchObject([{ body: '"P0"', revision: 1 }]);
  },
);

describe.each(WAYS)("events of one key, which meet a live job with %s", (_, ways) => {
  it.each<[string, number, string[], string | undefined]>([
    ["filed, cancelled", 300, ["P0", "D5"], undefined],
    ["in one second", 0, ["P0", "D0"], undefined],
    ["filed, asked for again, cancelled", 0, ["P0", "P5", "D10"], undefined],
    ["filed, cancelled, filed", 0, ["P0", "D5", "P10"], "P10"],
    ["filed, cancelled, filed after its tombstone", 300, ["P0", "D5", "P400"], "P400"],
    ["cancelled ahead, filed after its tombstone", 300, ["D5", "P7", "P400"], "P400"],
    ["filed, cancelled twice, filed", 0, ["P0", "D5", "D6", "P10"], "P10"],
    ["filed, cancelled, filed, cancelled", 0, ["P0", "D5", "P10", "D15"], undefined],
    ["filed, cancelled, filed, asked for again", 0, ["P0", "D5", "P10", "P15"], "P15"],
  ])(
    "leave the same job in any order of delivery, and after a second delivery: %s",
    async (__, tombstone, names, last) => {
      const rules = [placedBy(ways, 86_400), { ...paid, tombstone }];
      for (const order of orders(names)) {
        const world = shop();
        await world.pass(HOUR, { ticks: false });
        for (const name of order) {
          expect(await tell(world, rules, name)).toEqual([]);
          await world.pass(SECOND, { ticks: false });
        }
        for (const name of order) expect(await tell(world, rules, name, 2)).toEqual([]);
        expect(bodies(world), order.join()).toHaveLength(last === undefined ? 0 : 1);
        if (last !== undefined && ways.onDuplicate !== "keep") expect(bodies(world)).toEqual([last]);
      }
    },
  );
});

const pass = (world: World, seconds: number) => world.pass(seconds * SECOND, { ticks: false });
const afterLease = (world: World) => world.pass(30 * SECOND + CLOCK_MARGIN, { ticks: false });
/** An event that files a job due at once, as `P0`. */
const begun = async (ways: Duplicates) => {
  const world = shop();
  const rules = [placedBy(ways, 0), paid];
  await tell(world, rules, "P0");
  return { world, rules };
};
/** A run of the job in which `act` happens. */
const runs = (world: World, act: () => Promise<unknown>, ending: Ending = fail()) =>
  consume(world, "orders", {
    run: async () => {
      await act();
      return ending;
    },
  });

describe("an event that has to wait for a run", () => {
  it.each(["done", "failed", "crash"] as const)(
    "does nothing after a later event has cancelled the run in the meantime: %s",
    async (end) => {
      const { world, rules } = await begun({ onDuplicate: "postpone", maxDelay: 600 });
      const meet = async () => {
        await pass(world, 3);
        expect(await tell(world, rules, "P3")).toEqual([0]);
        await pass(world, 3);
        expect(await tell(world, rules, "D6")).toEqual([]);
      };
      if (end === "crash") {
        await crashWhileRunning(world, "orders");
        await meet();
      } else await runs(world, meet, end === "done" ? { end } : fail());
      await afterLease(world);
      expect(await tell(world, rules, "P3", 2)).toEqual([]);
      await world.pass(HOUR);
      expect(await consume(world, "orders")).toEqual([]);
      expect(live(world)).toEqual([]);
    },
  );

  it("files its job after an earlier event has cancelled the run in the meantime", async () => {
    const { world, rules } = await begun({ onDuplicate: "replace" });
    await runs(world, async () => {
      await pass(world, 9);
      expect(await tell(world, rules, "P9")).toEqual([0]);
      expect(await tell(world, rules, "D6")).toEqual([]);
    });
    expect(await tell(world, rules, "P9", 2)).toEqual([]);
    expect(bodies(world)).toEqual(["P9"]);
  });
});

describe("a running job that an event has cancelled", () => {
  it.each<[string, number, (world: World, rules: EventRule[]) => Promise<unknown>]>([
    ["a later event keeps the job", 1, (world, rules) => tell(world, rules, "P9")],
    ["a caller keeps the job", 1, (world) => world.file({ key, onDuplicate: "keep" })],
    ["an earlier event is applied", 0, (world, rules) => tell(world, rules, "P3")],
    [
      "a later event cancels the job again after one has kept it",
      0,
      async (world, rules) => {
        await tell(world, rules, "P9");
        await pass(world, 9);
        await tell(world, rules, "D12");
      },
    ],
  ])("runs again or does not: %s", async (_, left, act) => {
    const { world, rules } = await begun({ onDuplicate: "keep" });
    await runs(world, async () => {
      await pass(world, 9);
      await tell(world, rules, "D6");
      await act(world, rules);
      await tell(world, rules, "D6", 2);
    });
    expect(live(world)).toHaveLength(left);
    if (left > 0) expect(live(world)).toMatchObject([{ state: "scheduled", revision: 1 }]);
  });

  it("runs again once it has crashed, if it was kept", async () => {
    const { world, rules } = await begun({ onDuplicate: "keep" });
    await crashWhileRunning(world, "orders");
    await pass(world, 9);
    for (const name of ["D6", "P9"]) await tell(world, rules, name);
    await pass(world, 60);
    await consume(world, "orders");
    await pass(world, 23);
    expect(await consume(world, "orders")).toMatchObject([{ attempt: 2 }]);
  });

  it("runs again if an event keeps it between the read and the write at its end", async () => {
    const { world, rules } = await begun({ onDuplicate: "keep" });
    const isEnd = ({ operation, keys }: Call) =>
      operation === "change" && keys.some(({ sk }) => sk.length > 20);
    await runs(world, async () => {
      await pass(world, 9);
      await tell(world, rules, "D6");
      meanwhile(world, isEnd, () => tell(world, rules, "P9"));
    });
    expect(world.pool.hooks.before).toBeUndefined();
    expect(live(world)).toMatchObject([{ state: "scheduled", revision: 1 }]);
  });

  it.each([[["D6"]], [[]]])(
    "does not run again if a later event cancels it while another keeps it, after %j",
    async (before) => {
      const { world, rules } = await begun({ onDuplicate: "keep" });
      await runs(world, async () => {
        await pass(world, 12);
        for (const name of before) await tell(world, rules, name);
        meanwhile(world, isAt("once#", "transact"), () => tell(world, rules, "D12"));
        await tell(world, rules, "P9");
      });
      expect(live(world)).toEqual([]);
    },
  );

  it("does not run again if a later event cancels it after another has read the tombstone, and before that one reads the job", async () => {
    const { world, rules } = await begun({ onDuplicate: "keep" });
    const isReadOfHome = ({ operation, keys }: Call) =>
      operation === "read" && keys.some(({ pk }) => /^\d{4}-/.test(pk));
    await runs(world, async () => {
      await pass(world, 12);
      meanwhile(world, isReadOfHome, () => tell(world, rules, "D12"));
      await tell(world, rules, "P9");
    });
    expect(world.pool.hooks.before).toBeUndefined();
    expect(live(world)).toEqual([]);
  });
});

describe("an event that replaces a job whose run has crashed", () => {
  it("notices that a later event, on a machine with a slow clock, cancels that job", async () => {
    const { world, rules } = await begun({ onDuplicate: "replace" });
    await crashWhileRunning(world, "orders");
    await afterLease(world);
    meanwhile(world, isAt("once#", "transact"), () =>
      deliver({ ...world, ctx: world.skewed(-SECOND) }, rules, [eventOf("D12")]),
    );
    expect(await tell(world, rules, "P9")).toEqual([]);
    expect(await consume(world, "orders")).toEqual([]);
    expect(live(world)).toEqual([]);
  });
});

describe("an event that keeps a job", () => {
  it.each([false, true])(
    "leaves nothing to an earlier event that replaces the job, at the same time: %s",
    async (isAtOnce) => {
      const { world, rules } = await begun({ onDuplicate: "replace" });
      const seen: EnqueueRule = { ...placedBy({ onDuplicate: "keep" }, 0), detailType: "OrderSeen" };
      await pass(world, 20);
      const detail = { orderId: key, n: "seen" };
      const event = busEvent(START + 15 * SECOND, { id: "seen", "detail-type": "OrderSeen", detail });
      const keep = () => deliver(world, [...rules, seen], [event]);
      if (isAtOnce) meanwhile(world, isAt("once#", "transact"), keep);
      else await keep();
      await tell(world, rules, "P9");
      await tell(world, rules, "D12");
      expect(bodies(world)).toEqual(["P0"]);
    },
  );

  it("notes its time although an earlier event keeps the job at the same time", async () => {
    const { world, rules } = await begun({ onDuplicate: "keep" });
    await pass(world, 20);
    meanwhile(world, isAt("once#", "transact"), () => tell(world, rules, "P15"));
    for (const name of ["P9", "D12"]) await tell(world, rules, name);
    expect(bodies(world)).toEqual(["P0"]);
  });

  it("files a job if its job is cancelled at the same time", async () => {
    const { world, rules } = await begun({ onDuplicate: "keep" });
    await pass(world, 9);
    meanwhile(world, isAt("once#", "transact"), () => tell(world, rules, "D6"));
    expect(await tell(world, rules, "P9")).toEqual([]);
    expect(bodies(world)).toEqual(["P9"]);
  });

  it.each([false, true])(
    "is noticed by an earlier event that cancels the job at the same time, running: %s",
    async (running) => {
      const { world, rules } = await begun({ onDuplicate: "keep" });
      const meet = async () => {
        await pass(world, 9);
        meanwhile(world, isAt("tombstone#", "transact"), () => tell(world, rules, "P9"));
        await tell(world, rules, "D6");
      };
      if (running) await runs(world, meet);
      else await meet();
      expect(bodies(world)).toEqual(["P0"]);
    },
  );
});

it.each(["caller", "P7"])(
  "an event that comes after the job of %s cancels it, as its tombstone would have done",
  async (who) => {
    const world = shop();
    const rules = [placedBy({ onDuplicate: "keep" }, 86_400), paid];
    await pass(world, 60);
    if (who === "caller") await world.file({ key, delay: HOUR });
    else await tell(world, rules, who);
    await tell(world, rules, "D5");
    expect(live(world)).toEqual([]);
  },
);

describe("an event that cancels, told again", () => {
  it("leaves alone a job that a caller has filed since, before the tombstone ends", async () => {
    const { world, rules } = await begun({ onDuplicate: "keep" });
    await pass(world, 9);
    await tell(world, rules, "D6");
    await world.file({ key, delay: HOUR });
    for (const name of ["D6", "D3"]) await tell(world, rules, name, 2);
    expect(live(world)).toHaveLength(1);
  });

  it("is recognised among other events of the same second", async () => {
    const { world, rules } = await begun({ onDuplicate: "keep" });
    await pass(world, 9);
    const closed = busEvent(START + 6 * SECOND, { id: "closed", detail: { orderId: key, n: "closed" } });
    await tell(world, rules, "D6");
    await deliver(world, rules, [closed]);
    await world.file({ key, delay: HOUR });
    await tell(world, rules, "D6", 2);
    await deliver(world, rules, [closed], 2);
    expect(live(world)).toHaveLength(1);
  });

  it.each(["D24", "D3600"])(
    "is recognised after a later event, even if its time was in the future: %s",
    async (toCome) => {
      const { world, rules } = await begun({ onDuplicate: "keep" });
      await pass(world, 8);
      for (const name of [toCome, "D9"]) {
        await tell(world, rules, name);
        await world.file({ key, delay: HOUR });
        await pass(world, 1);
      }
      for (const name of [toCome, "D9"]) await tell(world, rules, name, 2);
      expect(live(world)).toHaveLength(1);
    },
  );

  it("is recognised even if a machine with a slow clock applied it first", async () => {
    const { world, rules } = await begun({ onDuplicate: "keep" });
    await pass(world, 9);
    await deliver({ ...world, ctx: world.skewed(-2 * SECOND) }, rules, [eventOf("D9")]);
    await tell(world, rules, "D8");
    await world.file({ key, delay: HOUR });
    await tell(world, rules, "D9", 2);
    expect(live(world)).toHaveLength(1);
  });

  it("leaves alone a dead job that was redriven since", async () => {
    const world = shop();
    const { id } = await dead(world, { key });
    await pass(world, 9);
    await tell(world, [paid], "D6");
    await redrive(world.ctx, "orders", { max: 1, delay: 60 });
    await tell(world, [paid], "D6", 2);
    expect(live(world)).toMatchObject([{ id }]);
  });

  it("leaves alone a job that a machine with a slow clock filed after the tombstone ended", async () => {
    const { world, rules } = await begun({ onDuplicate: "keep" });
    await pass(world, 9);
    await tell(world, rules, "D9");
    expect(await world.file({ key, delay: HOUR, createdAt: START + 8 * SECOND })).toMatchObject({
      state: "cancelled",
    });
    const job = { topic: "orders", key, body: "1", dueAt: START + HOUR };
    expect(await enqueue(world.skewed(-CLOCK_MARGIN), job)).toMatchObject({ home: { state: "scheduled" } });
  });
});

it("an event cancels a dead job that is redriven at the same time", async () => {
  const world = shop();
  await dead(world, { key });
  await pass(world, 9);
  meanwhile(world, isAt("tombstone#", "transact"), () => redrive(world.ctx, "orders", { max: 1, delay: 60 }));
  await tell(world, [paid], "D6");
  expect(live(world)).toEqual([]);
});

it.each([[["P5", "D3"]], [["D3", "P5"]]])(
  "of two events that happened just before a caller filed a job, by the caller's clock, the later one decides: %j",
  async (order) => {
    const world = shop();
    const rules = [placedBy({ onDuplicate: "keep" }, 86_400), { ...paid, tombstone: 0 }];
    await pass(world, 10);
    await world.file({ key, delay: HOUR });
    for (const name of order) await tell(world, rules, name);
    for (const name of order) await tell(world, rules, name, 2);
    expect(live(world)).toHaveLength(1);
  },
);

it("an event that cancels leaves alone a job of a later event that a caller has replaced", async () => {
  const { world, rules } = await begun({ onDuplicate: "replace" });
  await pass(world, 20);
  await tell(world, rules, "P15");
  await world.file({ key, onDuplicate: "replace", delay: HOUR, body: '"new"' });
  await tell(world, rules, "D5");
  expect(bodies(world)).toEqual(["new"]);
});

it("an event that cancels leaves alone a job that a caller replaced while a later event kept it", async () => {
  const { world, rules } = await begun({ onDuplicate: "keep" });
  await pass(world, 20);
  meanwhile(world, isLook, () => tell(world, rules, "P15"));
  await world.file({ key, onDuplicate: "replace", delay: HOUR, body: '"new"' });
  await tell(world, rules, "D5");
  expect(bodies(world)).toEqual(["new"]);
});

it.each([[["D10", "X12"]], [["X12", "D10"]]])(
  "the later of two events that cancel decides how long the tombstone is in force: %j",
  async (order) => {
    const world = shop();
    const closed = { ...paid, detailType: "OrderClosed", tombstone: 0 };
    const rules = [{ ...paid, tombstone: 300 }, closed];
    await pass(world, 20);
    for (const name of order) {
      const kind = name.startsWith("X") ? { "detail-type": "OrderClosed" } : {};
      const at = START + Number(name.slice(1)) * SECOND;
      await deliver(world, rules, [busEvent(at, { id: name, detail: { orderId: key }, ...kind })]);
    }
    expect(await world.file({ key, delay: HOUR })).toMatchObject({ state: "scheduled" });
  },
);

describe.each(WAYS)("an event with %s that arrives after the job of a later event has ended", (_, ways) => {
  it("files nothing if the job is done, also told again", async () => {
    const world = shop();
    const rules = [placedBy(ways, 0)];
    await pass(world, 20);
    await tell(world, rules, "P20");
    expect(await consume(world, "orders")).toHaveLength(1);
    for (const receives of [1, 2]) expect(await tell(world, rules, "P10", receives)).toEqual([]);
    expect(bodies(world)).toEqual([]);
    expect(await tell(world, rules, "P21")).toEqual([]);
    expect(bodies(world)).toEqual(["P21"]);
  });

  it("does not take the key of a dead job", async () => {
    const world = shop();
    const rules = [placedBy(ways, 0)];
    await pass(world, 20);
    await tell(world, rules, "P20");
    for (let attempt = 1; attempt <= 3; attempt++) {
      await consume(world, "orders", { run: fail });
      await pass(world, 15);
    }
    await tell(world, rules, "P10");
    expect(await redrive(world.ctx, "orders", { max: 10, delay: 0 })).toMatchObject({ redriven: 1 });
    expect(bodies(world)).toEqual(["P20"]);
  });
});
