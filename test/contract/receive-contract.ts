import { describe, expect, test } from "vitest";
import { numbers } from "./contract-items.ts";
import type { QueuesBench } from "./queues-contract.ts";

/** Of every ready queue the suite is given. */
export const MAX_RECEIVE_COUNT = 20;

export function receiveContract(bench: QueuesBench): void {
  const filled = filledQueuesOf(bench);
  receivesMessages(filled);
  hidesMessages(filled);
  removesMessages(filled);
  countsMessages(filled);
  failsCalls(filled);
}

type FilledQueues = ReturnType<typeof filledQueuesOf>;

function filledQueuesOf(bench: QueuesBench) {
  const { queues, topic } = bench;
  return {
    ...bench,
    /** Answers the topic of a new queue with the messages `0` to `count - 1`. */
    async filled(count: number, delaySeconds = 0): Promise<string> {
      const name = await topic();
      const messages = numbers(0, count).map((n) => ({ body: `${n}`, delaySeconds }));
      await queues().send({ topic: name }, messages);
      return name;
    },
    receive: (name: string, hideSeconds: number, max = 10) =>
      queues().receive({ topic: name }, { max, waitSeconds: 0, hideSeconds }),
  };
}

function receivesMessages({ queues, topic, pass, filled, receive }: FilledQueues): void {
  describe("receiving", () => {
    test("an empty queue answers with nothing", async () => {
      expect(await receive(await topic(), 30)).toEqual([]);
    });

    test("receives at most as many messages as asked for", async () => {
      const name = await filled(12);
      expect((await receive(name, 30, 3)).length).toBeLessThanOrEqual(3);
      expect((await receive(name, 30, 1)).length).toBe(1);
    });

    test("a delayed message is there when its delay is over, not before", async () => {
      const name = await filled(1, 6);
      expect(await receive(name, 30)).toEqual([]);
      expect(await queues().depth({ topic: name })).toEqual({ ready: 0, delayed: 1, inFlight: 0 });
      await pass(2);
      expect(await receive(name, 30)).toEqual([]);
      await pass(4.2);
      // SQS counts with a lag.
      await expect.poll(() => queues().depth({ topic: name })).toEqual({ ready: 1, delayed: 0, inFlight: 0 });
      expect(await receive(name, 30)).toHaveLength(1);
    });

    test("a received message is hidden for that long, then comes again with a new handle", async () => {
      const name = await filled(1);
      const [first] = await receive(name, 4);
      expect(await receive(name, 4)).toEqual([]);
      await pass(4.2);
      const [second] = await receive(name, 30);
      expect(second?.body).toBe("0");
      expect([first?.receives, second?.receives]).toEqual([1, 2]);
      expect(second?.handle).not.toBe(first?.handle);
    });
  });
}

function hidesMessages({ queues, topic, pass, drain, filled, receive }: FilledQueues): void {
  describe("hiding", () => {
    test("hiding counts from now, longer or shorter", async () => {
      const name = await filled(3);
      const received = await drain(name, 30);
      const seconds = [0, 4, 600];
      const messages = received.map(({ handle }, n) => ({ handle, seconds: seconds[n] ?? 0 }));
      await queues().hide({ topic: name }, messages);
      expect((await receive(name, 600)).map(({ body }) => body)).toEqual([received[0]?.body]);
      await pass(4.2);
      expect((await receive(name, 600)).map(({ body }) => body)).toEqual([received[1]?.body]);
      expect(await receive(name, 600)).toEqual([]);
    });

    test("hides and removes more messages than one request takes", async () => {
      const name = await filled(25);
      const received = await drain(name);
      await queues().hide(
        { topic: name },
        received.map(({ handle }) => ({ handle, seconds: 0 })),
      );
      const again = await drain(name);
      expect(again).toHaveLength(25);
      await queues().remove(
        { topic: name },
        again.map(({ handle }) => handle),
      );
      expect(await queues().depth({ topic: name })).toEqual({ ready: 0, delayed: 0, inFlight: 0 });
    });

    test("hiding and removing nothing does nothing", async () => {
      const name = await topic();
      await queues().hide({ topic: name }, []);
      await queues().remove({ topic: name }, []);
    });
  });
}

function removesMessages({ queues, pass, drain, filled, receive }: FilledQueues): void {
  describe("removing", () => {
    test("a removed message does not come back, and removing or hiding it again is no error", async () => {
      const name = await filled(2);
      const [gone, kept] = await drain(name, 4);
      if (!gone || !kept) throw new Error("two messages were sent");
      await queues().remove({ topic: name }, [gone.handle]);
      await queues().remove({ topic: name }, [gone.handle]);
      await queues().hide({ topic: name }, [
        { handle: gone.handle, seconds: 0 },
        { handle: kept.handle, seconds: 0 },
      ]);
      expect((await receive(name, 600)).map(({ body }) => body)).toEqual([kept.body]);
      await pass(4.2);
      expect(await receive(name, 600)).toEqual([]);
    });

    test("a message that has become visible can be removed", async () => {
      const name = await filled(1);
      const [message] = await receive(name, 1);
      await pass(1.2);
      await queues().remove({ topic: name }, [message?.handle ?? ""]);
      expect(await receive(name, 600)).toEqual([]);
    });

    test("unknown handles are no error", async () => {
      const name = await filled(1);
      await queues().remove({ topic: name }, ["nonsense"]);
      await queues().hide({ topic: name }, [{ handle: "nonsense", seconds: 5 }]);
      expect(await receive(name, 600)).toHaveLength(1);
    });
  });
}

function countsMessages({ queues, filled, receive }: FilledQueues): void {
  describe("the depth and the DLQ", () => {
    test("the depth tells ready, delayed and in flight apart", async () => {
      const name = await filled(5);
      await queues().send({ topic: name }, [{ body: "later", delaySeconds: 900 }]);
      await receive(name, 600, 1);
      await receive(name, 600, 1);
      expect(await queues().depth({ topic: name })).toEqual({ ready: 3, delayed: 1, inFlight: 2 });
      expect(await queues().depth({ topic: name, dead: true })).toEqual({
        ready: 0,
        delayed: 0,
        inFlight: 0,
      });
    });

    test("a message received too often goes to the DLQ", async () => {
      const name = await filled(1);
      for (const n of numbers(1, MAX_RECEIVE_COUNT)) {
        const [message] = await receive(name, 600);
        expect(message, `receive ${n}`).toBeDefined();
        await queues().hide({ topic: name }, [{ handle: message?.handle ?? "", seconds: 0 }]);
      }
      expect(await receive(name, 600)).toEqual([]);
      const options = { max: 10, waitSeconds: 0, hideSeconds: 600 };
      const dead = await queues().receive({ topic: name, dead: true }, options);
      expect(dead.map(({ body }) => body)).toEqual(["0"]);
    });
  });
}

function failsCalls({ queues, topic }: FilledQueues): void {
  describe("calls that fail", () => {
    test("a queue that does not exist is unavailable", async () => {
      const queue = { topic: "no-such-topic" };
      const unavailable = expect.objectContaining({ code: "unavailable" });
      const options = { max: 1, waitSeconds: 0, hideSeconds: 1 };
      await expect(queues().receive(queue, options)).rejects.toEqual(unavailable);
      await expect(queues().remove(queue, ["handle"])).rejects.toEqual(unavailable);
      await expect(queues().hide(queue, [{ handle: "handle", seconds: 1 }])).rejects.toEqual(unavailable);
      await expect(queues().depth(queue)).rejects.toEqual(unavailable);
    });

    test("a value outside of SQS's ranges is an error of the caller", async () => {
      const name = await topic();
      const options = { max: 1, waitSeconds: 0, hideSeconds: 1 };
      const receiving = (other: object) => queues().receive({ topic: name }, { ...options, ...other });
      await expect(receiving({ max: 11 })).rejects.toThrow(/from 1 to 10/);
      await expect(receiving({ waitSeconds: 21 })).rejects.toThrow(/from 0 to 20/);
      await expect(receiving({ hideSeconds: 43_201 })).rejects.toThrow(/from 0 to 43200/);
      const hiding = queues().hide({ topic: name }, [{ handle: "handle", seconds: 0.5 }]);
      await expect(hiding).rejects.toThrow(/from 0 to 43200/);
    });
  });
}
