import { setImmediate, setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import type { Outcome } from "../../../local/functions/execution-environment.ts";
import { openHttpApi } from "../../../local/functions/http-api.ts";
import { parseRoute } from "../../../local/functions/routes.ts";
import { HANG_MS } from "../../patience.ts";

const answer: Outcome = { outcome: "returned", payload: '{"statusCode":201}' };

/** Calls a route whose function answers as `invoke` does, and whose integration waits `timeoutMs` for it. */
async function statusOf(timeoutMs: number, invoke: () => Promise<Outcome>): Promise<number> {
  const api = await openHttpApi(0);
  api.serve([parseRoute("POST /jobs", { timeoutMs, invoke })], "000000000000");
  try {
    return (await fetch(`${api.url}/jobs`, { method: "POST" })).status;
  } finally {
    await api.stop(0);
  }
}

test("a call gets status 503 if the function does not answer in the time of its integration", async () => {
  expect(await statusOf(50, () => new Promise(() => {}))).toBe(503);
});

test("a call gets the answer of a function that takes less time", async () => {
  expect(await statusOf(HANG_MS, () => sleep(50, answer))).toBe(201);
});

test("a HEAD is answered with the length of the body, but without the body", async () => {
  const api = await openHttpApi(0);
  const invoke = async (): Promise<Outcome> => ({
    outcome: "returned",
    payload: JSON.stringify({ statusCode: 200, body: "größer" }),
  });
  api.serve([parseRoute("ANY /jobs", { timeoutMs: HANG_MS, invoke })], "000000000000");
  const answered = await fetch(`${api.url}/jobs`, { method: "HEAD" });
  expect(answered.headers.get("content-length")).toBe("8");
  expect(await answered.text()).toBe("");
  await api.stop(0);
});

test("a function that fails after that time changes nothing", async () => {
  const { promise, reject } = Promise.withResolvers<Outcome>();
  expect(await statusOf(10, () => promise)).toBe(503);
  reject(new Error("too late"));
  // An error that nobody handles would fail the test in the next turn of the event loop.
  await setImmediate();
});

test("a function is told when its caller has hung up, before it answers", async () => {
  const api = await openHttpApi(0);
  const { promise: begun, resolve: begin } = Promise.withResolvers<AbortSignal>();
  const invoke = (_: object, caller: AbortSignal): Promise<Outcome> => {
    begin(caller);
    return new Promise((resolve) => caller.addEventListener("abort", () => resolve(answer)));
  };
  api.serve([parseRoute("POST /jobs", { timeoutMs: HANG_MS, invoke })], "000000000000");
  const caller = new AbortController();
  const called = fetch(`${api.url}/jobs`, { method: "POST", signal: caller.signal });
  const seen = await begun;
  expect(seen.aborted).toBe(false);
  caller.abort();
  await expect(called).rejects.toThrow();
  await expect.poll(() => seen.aborted).toBe(true);
  await api.stop(0);
});
