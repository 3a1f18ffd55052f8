import { expect, test } from "vitest";
import { openapiDocument } from "../../src/http/openapi.ts";
import { routes } from "../../src/http/route-table.ts";
import { createApi } from "../support/api.ts";

const SENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const OTHER = SENT.replace("00f0", "11f0");
const job = { topic: "work", body: 1, delay: 0 };

const WAYS = [
  ["POST", "/jobs", job],
  ["POST", "/jobs/batch", { jobs: [job] }],
  ["PUT", "/topics/work/jobs/k", { body: 1, delay: 0 }],
] as const;

test.each(WAYS)("%s %s keeps the traceparent for the worker", async (method, path, body) => {
  const { call, world } = createApi();
  await call(method, path, { body, headers: { Traceparent: ` ${SENT} ` } });
  expect(world.pool.items()).toContainEqual(expect.objectContaining({ traceparent: SENT }));
  const { json } = await call("POST", "/topics/work/receive");
  expect(json.jobs).toMatchObject([{ traceparent: SENT }]);
});

test.each(WAYS)(
  "%s %s ignores a malformed traceparent and keeps nothing of it",
  async (method, path, body) => {
    const { call, world } = createApi();
    const { status } = await call(method, path, { body, headers: { traceparent: `${SENT}, ${OTHER}` } });
    expect(status).toBeLessThan(300);
    expect(JSON.stringify(world.pool.items())).not.toContain("traceparent");
    const { json } = await call("POST", "/topics/work/receive");
    expect(json.jobs).toEqual([expect.not.objectContaining({ traceparent: expect.anything() })]);
  },
);

test.each([
  ["valid", OTHER],
  ["malformed", `${SENT}, ${OTHER}`],
])("the header of our client counts before a %s traceparent beside it", async (_, traceparent) => {
  const { call } = createApi();
  const headers = { "minutehand-traceparent": SENT, traceparent };
  await call("POST", "/jobs", { body: job, headers });
  expect((await call("POST", "/topics/work/receive")).json.jobs).toMatchObject([{ traceparent: SENT }]);
});

test("a repeat from another span answers the job of the first", async () => {
  const { call } = createApi();
  const once = (traceparent: string) =>
    call("POST", "/jobs", { body: job, headers: { "idempotency-key": "a", traceparent } });
  const [first, second] = [await once(SENT), await once(OTHER)];
  expect(second.json.id).toBe(first.json.id);
  expect((await call("POST", "/topics/work/receive")).json.jobs).toMatchObject([{ traceparent: SENT }]);
});

test("the header is no parameter, so generated clients keep their methods", () => {
  const { paths } = openapiDocument(routes, "1.2.3") as { paths: object };
  const parameters = Object.values(paths).flatMap((path) =>
    Object.values(path as object).flatMap((operation) => operation.parameters ?? []),
  );
  expect(parameters.length).toBeGreaterThan(0);
  expect(parameters.filter(({ name }) => /traceparent/i.test(name))).toEqual([]);
});
