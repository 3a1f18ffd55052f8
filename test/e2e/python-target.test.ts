import { describe, expect, inject, it } from "vitest";
import { sharedApi } from "./api.ts";
import { cannot } from "./places.ts";

const api = sharedApi();
const { place } = inject("target");
const file = (body: object) => api.file({ topic: "receipts", delay: 0, body });

// Only MiniStack's stack has this topic. The embedded stack runs the same function in test/local/targets.test.ts.
describe.skipIf(place !== "ministack")("a function in Python that is a target", () => {
  it("runs a job, which is done", async () => {
    const { id } = await file({ orderId: "17", cents: 1250 });
    expect(await api.until(id, ({ state }) => state === "done")).toMatchObject({ attempt: 1 });
  });

  it("buries a job, and fails another, whose error says the type and the message", async () => {
    const { id: buried } = await file({ orderId: "18", state: "refunded" });
    const dead = await api.until(buried, ({ state }) => state === "dead");
    expect(dead).toMatchObject({ attempt: 1, lastError: "order 18 was refunded" });
    const { id: failed } = await file({ orderId: "19", cents: 0 });
    const waiting = await api.until(failed, ({ lastError }) => lastError !== undefined);
    expect(waiting).toMatchObject({
      ...{ state: "scheduled", attempt: 1 },
      lastError: `${cannot(place, "error-types") ? "Runtime.HandlerError" : "ValueError"}: an order must cost more than 0 cents, costs 0`,
    });
  });

  it("asks for another run, which is no attempt", async () => {
    const { id } = await file({ orderId: "20", state: "unpaid" });
    const waiting = await api.until(id, ({ revision }) => revision === 1);
    expect(waiting).toMatchObject({ state: "scheduled", attempt: 0 });
  });
});
