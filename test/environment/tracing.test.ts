import { afterEach, expect, test } from "vitest";
import { createTestQueue } from "../../src/testing/test-queue.ts";

/** OpenTelemetry's SDK registers itself here. */
const REGISTERED = Symbol.for("opentelemetry.js.api.1");
const everywhere = globalThis as { [REGISTERED]?: object };

const CALLER = { traceId: "a".repeat(32), spanId: "b".repeat(16), traceFlags: 1 };

/** An SDK in which one function throws, as the span processor of a user can. */
function sdkWithout(broken?: string): object {
  const part = <T>(name: string, answer: () => T): T => {
    if (name === broken) throw new Error(`${name} is broken`);
    return answer();
  };
  const nothing = (name: string) => () => part(name, () => {});
  const span = {
    spanContext: () => part("spanContext", () => CALLER),
    recordException: nothing("recordException"),
    setStatus: nothing("setStatus"),
    end: nothing("end"),
  };
  const here = { getValue: () => span, setValue: () => here };
  return {
    trace: { getTracer: () => ({ startSpan: () => part("startSpan", () => span) }) },
    context: {
      active: () => part("active", () => here),
      with: (_: unknown, work: () => unknown) => part("with", work),
    },
  };
}

afterEach(() => {
  delete everywhere[REGISTERED];
});

test.each(["active", "startSpan", "with", "recordException", "setStatus", "end"])(
  "each attempt runs once and ends as without an SDK, if the SDK's %s throws",
  async (broken) => {
    const attempts: number[] = [];
    const handler = ({ attempt }: { attempt: number }) => {
      attempts.push(attempt);
      if (attempt === 1) throw new Error("no bank");
    };
    const queue = createTestQueue<{ orders: number }>({ topics: { orders: { handler } } });
    everywhere[REGISTERED] = sdkWithout();
    const { id } = await queue.client.enqueue("orders", 1, { delay: 1 });
    everywhere[REGISTERED] = sdkWithout(broken);
    await queue.advance("1h");
    expect(attempts).toEqual([1, 2]);
    expect(await queue.client.get(id)).toMatchObject({ state: "done", attempt: 2 });
  },
);

test.each(["active", "spanContext"])(
  "a job is filed without a span if the SDK's %s throws",
  async (broken) => {
    const queue = createTestQueue<{ orders: number }>({ topics: { orders: { handler: () => {} } } });
    everywhere[REGISTERED] = sdkWithout(broken);
    const { id } = await queue.client.enqueue("orders", 1, { delay: 1 });
    expect(await queue.client.get(id)).toMatchObject({ state: "scheduled" });
  },
);
