import { expect, test } from "vitest";
import { createApi } from "../support/api.ts";
import { HOUR, MINUTE, SECOND } from "../support/world.ts";

test("a topic is paused, its answer has the pause, and it is resumed at a rate", async () => {
  const { call, world } = createApi();
  const job = { topic: "orders", body: 1, delay: 60 };
  const { json: first } = await call("POST", "/jobs", { body: job });
  const since = new Date(world.now()).toISOString();
  expect(await call("POST", "/topics/orders/pause")).toMatchObject({
    status: 200,
    json: { topic: "orders", state: "paused", since },
  });
  const { json: second } = await call("POST", "/jobs", { body: job });
  await world.pass(HOUR);
  expect(await call("POST", "/topics/orders/pause", { body: {} })).toMatchObject({ json: { since } });
  // The first job has been in SQS since before the pause. The audit found it, so it is parked too.
  const paused = { state: "paused", since, parked: 2 };
  expect((await call("GET", "/topics/orders")).json).toMatchObject({ pause: paused });
  expect((await call("GET", `/jobs/${second.id}`)).json).toMatchObject({ state: "scheduled" });

  const from = world.now();
  const rate = { body: { ratePerSecond: 0.1 } };
  expect(await call("POST", "/topics/orders/resume", rate)).toMatchObject({
    status: 200,
    json: { topic: "orders", released: 2, left: 0 },
  });
  expect((await call("GET", "/topics/orders")).json).toMatchObject({
    pause: { state: "resuming", since, ratePerSecond: 0.1, parked: 0 },
  });
  const times = await Promise.all(
    [first, second].map(async ({ id }) => (await call("GET", `/jobs/${id}`)).json),
  );
  expect(times.map(({ heldUntil }) => Date.parse(String(heldUntil)) - from).sort()).toEqual([0, 10 * SECOND]);
  // The rate ends ten minutes after the resume, and the pause ends ten minutes after the rate.
  await world.pass(24 * MINUTE);
  expect((await call("GET", "/topics/orders")).json).not.toHaveProperty("pause");
  expect((await call("GET", "/topics")).json).not.toMatchObject({ topics: [{ pause: {} }] });
});

test("resuming a topic that is not paused does nothing", async () => {
  const { call } = createApi();
  expect(await call("POST", "/topics/orders/resume")).toMatchObject({
    status: 200,
    json: { topic: "orders", released: 0, left: 0 },
  });
});
