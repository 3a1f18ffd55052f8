import { describe, expect, test } from "vitest";
import { MinutehandError } from "../../src/client/client.ts";
import type { DirectClient } from "../../src/client/direct-client.ts";
import { directOn } from "../../src/client/direct-client.ts";
import { withShift } from "../../src/client/with-shift.ts";
import { KEY_RULE } from "../../src/core/job-key.ts";
import { createTelemetry } from "../../src/environment/telemetry.ts";
import { routes } from "../../src/http/route-table.ts";
import { clientInside } from "../../src/testing/client-inside.ts";
import { createWorld, MINUTE, type World } from "../support/world.ts";

const { logger } = createTelemetry("minutehand");
const http = ({ ctx }: World) => clientInside(ctx, console, routes);
const CLIENTS: Record<string, (world: World) => DirectClient> = {
  "over HTTP": http,
  directly: ({ ctx }) => directOn(ctx, logger),
};

const BY_KEY = { topic: "work", key: "17" };

/** What happens to a job that is due, before somebody cancels it. */
const BEFORE: Record<string, (world: World) => Promise<unknown>> = {
  cancelled: async () => {},
  "cancelled, before": (world) => http(world).cancel(BY_KEY),
  "cancelled, after a crash": async (world) => {
    await http(world).receive("work");
    await world.pass(MINUTE);
  },
  running: (world) => http(world).receive("work"),
  done: (world) => pulled(world, (receipt) => http(world).finish("work", receipt)),
  dead: (world) => pulled(world, (receipt) => http(world).bury("work", receipt)),
  async expired(world) {
    await world.pass(2 * MINUTE);
    await http(world).receive("work");
  },
};

async function pulled(world: World, settle: (receipt: string) => Promise<unknown>): Promise<void> {
  const [job] = await http(world).receive("work");
  await settle(job?.receipt ?? "");
}

describe.each(Object.keys(CLIENTS))("a call %s", (how) => {
  const start = () => {
    const world = createWorld();
    return { world, client: CLIENTS[how]?.(world) as DirectClient };
  };

  test("for one job takes the job's id, or its topic and key", async () => {
    for (const name of ["id", "key"]) {
      const { client } = start();
      const { id } = await client.enqueue("work", 1, { delay: "1h", key: "17" });
      const job = name === "id" ? id : BY_KEY;
      expect(await client.get(job)).toMatchObject({ id, body: 1 });
      expect(await client.reschedule(job, { delay: "2h", body: 2 })).toMatchObject({ id, revision: 1 });
      expect(await client.cancel(job)).toMatchObject({ id, state: "cancelled", body: 2 });
      expect(await client.cancelIfWaiting(job)).toMatchObject({ outcome: "cancelled", job: { id } });
    }
  });

  test("shifts one job from its own time", async () => {
    const { client } = start();
    const { id, dueAt } = await client.enqueue("work", 1, { delay: "1h", key: "17" });
    const minutesLater = (minutes: number) => new Date(Date.parse(dueAt) + minutes * MINUTE).toISOString();
    expect(await client.reschedule(id, { shift: "1h" })).toMatchObject({
      dueAt: minutesLater(60),
      revision: 1,
    });
    expect(await client.reschedule(BY_KEY, { shift: -1800, body: 2 })).toMatchObject({
      ...{ id, dueAt: minutesLater(30), body: 2 },
    });
  });

  test("shifts one job also if another caller moves it in between", async () => {
    const { client } = start();
    const { id, dueAt } = await client.enqueue("work", 1, { delay: "1h", key: "17" });
    let others = 2;
    const get: DirectClient["get"] = async (job) => {
      const seen = await client.get(job);
      if (others-- > 0) await client.reschedule(id, { shift: "5m" });
      return seen as never;
    };
    const { reschedule } = withShift({ reschedule: client.reschedule, get });
    const shifted = await reschedule(BY_KEY, { shift: "1h" });
    expect(Date.parse(shifted.dueAt) - Date.parse(dueAt)).toBe(70 * MINUTE);
  });

  test("shifts no job that has changed since its caller saw it", async () => {
    const { client } = start();
    const seen = await client.enqueue("work", 1, { delay: "1h" });
    const change = { shift: "1h", ifMatch: seen } as const;
    const moved = await client.reschedule(seen.id, change);
    await expect(client.reschedule(seen.id, change)).rejects.toMatchObject({ code: "changed-meanwhile" });
    expect(await client.get(seen.id)).toMatchObject({ dueAt: moved.dueAt });
  });

  test.each([
    [{ shift: 0 }, 'shift must be seconds or a text such as "2h" or "-30m", not 0, got 0'],
    [{ shift: "soon" }, 'not 0, got "soon"'],
    [{ shift: "1h", delay: 1 }, "shift must be given without delay"],
    [{ shift: "1h", dueAt: "2026-03-01T09:00:00Z" }, "shift must be given without dueAt"],
    [{ shift: "1h", idempotencyKey: "k" }, "shift must be given without idempotencyKey"],
  ])("that shifts one job is refused with %j", async (change, message) => {
    const { client } = start();
    const { id } = await client.enqueue("work", 1, { delay: "1h" });
    await expect(client.reschedule(id, change as never)).rejects.toMatchObject({
      ...{ code: "bad-request", message: expect.stringContaining(message) },
    });
  });

  test.each([
    [undefined, "got undefined"],
    [17, "got 17"],
    [{}, "got an object without fields"],
    [{ topic: "work", kay: "17" }, "got an object with the fields topic, kay"],
    [{ topic: "work", key: 17 }, "got an object with the fields topic, key"],
    [{ id: "x", topic: "work", key: "17" }, "got an object with the fields id, topic, key"],
  ])("for one job is refused if the job is named by %j", async (job, got) => {
    const { client } = start();
    const name = job as never;
    const calls = [
      () => client.get(name),
      () => client.reschedule(name, { delay: 1 }),
      () => client.cancel(name),
      () => client.cancelIfWaiting(name),
    ];
    for (const call of calls)
      await expect(call()).rejects.toMatchObject({
        code: "bad-request",
        message: expect.stringMatching(
          new RegExp(`^a job must be given as its id, or as \\{ topic, key \\}.*${got}$`),
        ),
      });
  });

  test("for one job that takes a key for an id says how a key names a job", async () => {
    const { client } = start();
    for (const call of [client.get, client.cancel, client.cancelIfWaiting])
      await expect(call("order-17")).rejects.toMatchObject({
        code: "bad-request",
        message: expect.stringMatching(/^id must be a job's id: .*in the client \{ topic, key \}/),
      });
  });

  const TOPIC_RULE = "must be 1 to 50 characters of a-z, 0-9 and -";
  test.each([
    ["work", "a/b", `key ${KEY_RULE}, got "a/b"`],
    ["work", "", `key ${KEY_RULE}, got ""`],
    ["work", "..", `key ${KEY_RULE}, got ".."`],
    ["a/b", "17", `topic ${TOPIC_RULE}, got "a/b"`],
    ["", "", `topic ${TOPIC_RULE}, got ""; key ${KEY_RULE}, got ""`],
  ])("for one job names the rules that its topic and key break: %j, %j", async (topic, key, message) => {
    const { client } = start();
    const job = { topic, key };
    const errors = message.split("; ").map((text) => {
      const [path = ""] = text.split(" ");
      return { path, message: text.slice(path.length + 1, text.lastIndexOf(", got")) };
    });
    const calls = [
      () => client.get(job),
      () => client.reschedule(job, { delay: 1 }),
      () => client.reschedule(job, { shift: "1h" }),
      () => client.cancel(job),
      () => client.cancelIfWaiting(job),
      () => client.put(topic, key, { body: 1, delay: 1 }),
    ];
    for (const call of calls)
      await expect(call()).rejects.toMatchObject({ code: "bad-request", message, data: { errors } });
  });

  test.each(Object.keys(BEFORE))("of cancelIfWaiting answers what became of a job: %s", async (name) => {
    const { world, client } = start();
    const { id } = await client.enqueue("work", 1, { delay: 0, key: "17", expiresAfter: "1m" });
    await BEFORE[name]?.(world);
    for (const job of [id, BY_KEY]) {
      const answer = await client.cancelIfWaiting(job, { reason: "paid" });
      expect(answer.outcome).toBe(name.split(",")[0]);
      expect(answer.job?.state).toBe(answer.outcome === "cancelled" ? "cancelled" : undefined);
    }
  });

  test("of cancelIfWaiting answers that there is no such job, and throws other errors", async () => {
    const { client } = start();
    expect(await client.cancelIfWaiting(BY_KEY)).toEqual({ outcome: "not-found" });
    expect(await client.cancelIfWaiting("01KJMF8S00G00000000000000A")).toEqual({ outcome: "not-found" });
    for (const job of ["x", { topic: "nowhere", key: "17" }, { topic: "events", key: "17" }])
      await expect(client.cancelIfWaiting(job)).rejects.toThrow(MinutehandError);
    await expect(client.cancelIfWaiting("x", { ifMatch: {} } as object)).rejects.toMatchObject({
      message: expect.stringContaining("ifMatch"),
    });
  });
});
