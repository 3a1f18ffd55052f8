import { describe, expect, test } from "vitest";
import * as z from "zod/mini";
import { createClient, type TopicSchemas } from "../../src/client/client.ts";
import { consumer } from "../../src/consumer/consumer.ts";
import { createTestQueue } from "../../src/testing/test-queue.ts";

const reminder = z.object({
  at: z.pipe(
    z.iso.datetime(),
    z.transform((text: string) => new Date(text)),
  ),
  items: z.array(z.object({ price: z.number() })),
});
const AT = "2030-01-02T09:00:00Z";
const good = { at: AT, items: [{ price: 1 }] };
const bad = { at: AT, items: [{ price: 1 }, { price: "2" }] } as never;

function queueOf() {
  const years: number[] = [];
  const handler = consumer((job) => void years.push(job.body.at.getFullYear()), { schema: reminder });
  const queue = createTestQueue({
    topics: { reminder: { handler }, free: { consumer: "pull" } },
    schemas: { reminder },
  });
  return { queue, years };
}

const MISFIT = {
  code: "bad-request",
  message: expect.stringMatching(
    /^the body does not fit the schema of topic reminder: body\.items\.1\.price: /,
  ),
  data: { errors: [{ path: "body.items.1.price", message: expect.any(String) }] },
};

describe("a client with schemas", () => {
  test("files a body that fits, and the handler gets what the schema makes of it", async () => {
    const { queue, years } = queueOf();
    const { body } = await queue.client.enqueue("reminder", good, { delay: 0 });
    expect(body).toEqual(good);
    // The schema gets what JSON makes of the body.
    await queue.client.enqueue("reminder", { ...good, at: new Date(AT) } as never, { delay: 0 });
    await queue.advance(0);
    expect(years).toEqual([2030, 2030]);
  });

  test("refuses a body that does not fit, before anything is filed", async () => {
    const { queue } = queueOf();
    const { client } = queue;
    await expect(client.enqueue("reminder", bad, { delay: 0 })).rejects.toMatchObject(MISFIT);
    await expect(client.put("reminder", "key", { body: bad, delay: 0 })).rejects.toMatchObject(MISFIT);
    const byKey = { topic: "reminder", key: "key" } as const;
    await expect(client.reschedule(byKey, { body: bad })).rejects.toMatchObject(MISFIT);
    const schedule = { expression: "rate(1 day)", topic: "reminder", body: bad } as const;
    await expect(client.putSchedule("daily", schedule)).rejects.toMatchObject(MISFIT);
    const jobs = [good, bad].map((body) => ({ topic: "reminder" as const, body, delay: 0 }));
    await expect(client.enqueueMany(jobs)).rejects.toMatchObject({
      code: "bad-request",
      message: expect.stringContaining("jobs.1.body.items.1.price: "),
    });
    expect(queue.jobs()).toEqual([]);
    await expect(client.schedule("daily")).rejects.toMatchObject({ code: "schedule-not-found" });
  });

  test("takes any body of a topic without schema", async () => {
    const { queue } = queueOf();
    await queue.client.enqueue("free", { any: ["body"] }, { delay: 0 });
    expect(queue.jobs("free")).toHaveLength(1);
    await expect(
      queue.client.enqueue("constructor" as never, good as never, { delay: 0 }),
    ).rejects.toMatchObject({
      code: "unknown-topic",
    });
  });

  test("refuses what JSON would alter, with its path", async () => {
    const { client } = queueOf().queue;
    const altered = { at: AT, items: [{ price: Number.NaN }] };
    await expect(client.enqueue("reminder", altered, { delay: 0 })).rejects.toMatchObject({
      code: "bad-request",
      message: "body.items.0.price must be a value that JSON keeps, got NaN",
    });
  });

  test("leaves a body that is missing to the call, which refuses it", async () => {
    const { client } = queueOf().queue;
    await expect(client.enqueue("reminder", undefined as never, { delay: 0 })).rejects.toThrow(
      "body must be given",
    );
    await expect(client.enqueueMany(undefined as never)).rejects.toMatchObject({ code: "bad-request" });
  });

  test("waits for a schema that checks later", async () => {
    const later = {
      "~standard": {
        version: 1,
        vendor: "test",
        validate: async (value: unknown) =>
          value === 1
            ? { value }
            : { issues: [{ message: "must be 1", path: [{ key: "a" }, 0] }, { message: "no" }] },
      },
    } as const;
    const { client } = createTestQueue({ topics: { t: { consumer: "pull" } }, schemas: { t: later } });
    await client.enqueue("t", 1 as never, { delay: 0 });
    await expect(client.enqueue("t", 2 as never, { delay: 0 })).rejects.toThrow(
      "the body does not fit the schema of topic t: body.a.0: must be 1; body: no",
    );
  });

  test("refuses what is no schema", () => {
    const schemas = { t: { type: "object" } } as unknown as TopicSchemas;
    const create = () => createClient({ url: "http://127.0.0.1:4500", schemas });
    expect(create).toThrow(RangeError);
    expect(create).toThrow("schemas.t must be a schema of a library of Standard Schema, such as zod");
  });
});

describe("a consumer with a schema", () => {
  test("fails the attempt of a body that does not fit, before its handler starts", async () => {
    const { queue, years } = queueOf();
    // The client of another program has no schemas.
    const { id } = await queue.client.enqueue("reminder", good, { delay: 60, maxAttempts: 1 });
    await queue.client.reschedule(id, { body: bad, delay: 60 });
    await queue.advance(60);
    expect(years).toEqual([]);
    expect(await queue.client.get(id)).toMatchObject({
      state: "dead",
      lastError: expect.stringMatching(/^the body does not fit the schema: body\.items\.1\.price: /),
    });
  });
});

test("the test kit refuses an event whose detail JSON would alter", async () => {
  const { queue } = queueOf();
  const event = { source: "shop", detailType: "paid", detail: { amount: Number.NaN } };
  await expect(queue.publish(event)).rejects.toThrow(
    "detail.amount must be a value that JSON keeps, got NaN",
  );
});
