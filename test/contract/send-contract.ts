import { describe, expect, test } from "vitest";
import type { Outgoing } from "../../src/protocol/ports.ts";
import { numbers } from "./contract-items.ts";
import type { QueuesBench } from "./queues-contract.ts";

const now = (body: string): Outgoing => ({ body, delaySeconds: 0 });
const REFUSED = { outcome: "refused", reason: expect.any(String) };

export function sendContract(bench: QueuesBench): void {
  sendsMessages(bench);
  sendsManyMessages(bench);
  refusesMessages(bench);
}

function sendsMessages({ queues, topic, groups, drain, unless }: QueuesBench): void {
  describe("sending", () => {
    test("a message arrives as it was sent", async () => {
      const name = await topic();
      expect(await queues().send({ topic: name }, [now('{"v":1,"jobs":[]}')])).toEqual([{ outcome: "sent" }]);
      expect((await drain(name)).map(({ body }) => body)).toEqual(['{"v":1,"jobs":[]}']);
    });

    test("sending nothing does nothing", async () => {
      expect(await queues().send({ topic: await topic() }, [])).toEqual([]);
    });

    test.each([
      ["quotes and backslashes", `'single' "double" \\ \` # --`],
      ["white space", "\t\n\r "],
      ["characters beyond the plane", "👩‍🚀 \u{10000}\u{10fffd}"],
      ["characters of the plane", "é שלום \ud7ff\ue000\ufffd"],
      ["escapes of what SQS refuses", '{"a":"\\ufffe\\uffff\\ud800"}'],
    ])("keeps %s", async (_, body) => {
      const name = await topic();
      expect(await queues().send({ topic: name }, [now(body)])).toEqual([{ outcome: "sent" }]);
      expect((await drain(name)).map((message) => message.body)).toEqual([body]);
    });

    test("a DLQ is a queue of its own", async () => {
      const name = await topic();
      await queues().send({ topic: name, dead: true }, [now("dead")]);
      expect(await drain(name)).toEqual([]);
      const options = { max: 10, waitSeconds: 0, hideSeconds: 600 };
      const dead = await queues().receive({ topic: name, dead: true }, options);
      expect(dead.map(({ body }) => body)).toEqual(["dead"]);
    });

    unless("drops-groups", "a message keeps its group, and has none unless told", async () => {
      const name = await topic();
      await queues().send({ topic: name }, [{ ...now("a"), group: "tenant-1:~" }, now("b")]);
      expect((await groups(name)).sort()).toEqual(["tenant-1:~", undefined]);
    });
  });
}

function sendsManyMessages({ queues, topic, drain }: QueuesBench): void {
  describe("sending many messages", () => {
    test("sends more messages than one request takes, each once", async () => {
      const name = await topic();
      const bodies = numbers(0, 125).map((n) => `message ${n}`);
      const sent = await queues().send({ topic: name }, bodies.map(now));
      expect(sent).toEqual(bodies.map(() => ({ outcome: "sent" })));
      const arrived = (await drain(name)).map(({ body }) => body);
      expect(arrived.sort()).toEqual(bodies.sort());
    });

    test("answers the outcome of each of many messages, in their order", async () => {
      const bodies = numbers(0, 35).map((n) => (n % 4 === 3 ? `\ufffe${n}` : `${n}`));
      const name = await topic();
      const sent = await queues().send({ topic: name }, bodies.map(now));
      expect(sent.map(({ outcome }) => outcome)).toEqual(
        bodies.map((_, n) => (n % 4 === 3 ? "refused" : "sent")),
      );
      expect(await drain(name)).toHaveLength(bodies.length - 8);
    });

    test("sends bodies of 200 KiB, and one of exactly 256", async () => {
      const name = await topic();
      const bodies = [200, 200, 200, 256].map((kib) => "é".repeat(kib * 512));
      const sent = await queues().send({ topic: name }, bodies.map(now));
      expect(sent).toEqual(bodies.map(() => ({ outcome: "sent" })));
      const sizes = (await drain(name)).map(({ body }) => Buffer.byteLength(body));
      expect(sizes.sort()).toEqual([200, 200, 200, 256].map((kib) => kib * 1024));
    });
  });
}

function refusesMessages({ queues, topic, drain }: QueuesBench): void {
  describe("messages that are refused", () => {
    test.each([
      ["U+FFFE", "a\ufffe"],
      ["U+FFFF", "a\uffff"],
      ["a control character", "a\u0001"],
      ["U+0000", "a\u0000"],
      ["a lone high surrogate", "a\ud800b"],
      ["a lone low surrogate", "a\udc00b"],
      ["no character", ""],
      ["more than 256 KiB", "x".repeat(256 * 1024 + 1)],
      ["more than 256 KiB in UTF-8", "é".repeat(128 * 1024 + 1)],
    ])("refuses a body with %s, and takes the others of its batch", async (_, body) => {
      const name = await topic();
      const sent = await queues().send({ topic: name }, [now("first"), now(body), now("last")]);
      expect(sent).toEqual([{ outcome: "sent" }, REFUSED, { outcome: "sent" }]);
      const bodies = (await drain(name)).map((message) => message.body);
      expect(bodies.sort()).toEqual(["first", "last"]);
    });

    test("a queue that does not exist is missing, for every message", async () => {
      const missing = { outcome: "missing", reason: expect.any(String) };
      const messages = numbers(0, 12).map((n) => now(`${n}`));
      const sent = await queues().send({ topic: "no-such-topic" }, messages);
      expect(sent).toEqual(messages.map(() => missing));
    });

    test.each([901, -1, 0.5, Number.NaN])(
      "a delay of %d s is an error of the caller",
      async (delaySeconds) => {
        const sending = queues().send({ topic: await topic() }, [{ body: "a", delaySeconds }]);
        await expect(sending).rejects.toThrow(/from 0 to 900/);
      },
    );
  });
}
