import type { APIGatewayProxyEventV2 } from "aws-lambda";
import { describe, expect, test } from "vitest";
import { ACTOR_NAME_BYTES } from "../../src/core/constants.ts";
import { CALLER_GONE } from "../../src/general/caller-gone.ts";
import { truncate } from "../../src/general/text.ts";
import { serveEvents } from "../../src/http/lambda.ts";
import { createApi } from "../support/api.ts";

type Parts = Partial<Pick<APIGatewayProxyEventV2, "body" | "isBase64Encoded" | "rawQueryString" | "headers">>;

/** An event of API Gateway, with the fields that the function reads. */
function eventOf(method: string, rawPath: string, parts: Parts = {}): APIGatewayProxyEventV2 {
  return {
    rawPath,
    rawQueryString: "",
    headers: {},
    isBase64Encoded: false,
    requestContext: { http: { method } },
    ...parts,
  } as APIGatewayProxyEventV2;
}

function createHandler() {
  const api = createApi();
  let answered = 0;
  const handler = serveEvents(api.app, { done: () => answered++ });
  return { ...api, handler, answered: () => answered };
}

const job = JSON.stringify({ topic: "orders", body: "é", delay: "1h" });

describe("an event of API Gateway", () => {
  test("that changes a topic, a schedule or many jobs is logged with its caller, and other events are not", async () => {
    const { handler, logged } = createHandler();
    const userArn = "arn:aws:sts::123456789012:assumed-role/OnCall/ann";
    const signed = { http: { method: "POST" }, authorizer: { iam: { userArn } } };
    const requestContext = signed as unknown as APIGatewayProxyEventV2["requestContext"];
    await handler({ ...eventOf("POST", "/topics/orders/pause"), requestContext });
    await handler({ ...eventOf("POST", "/jobs", { body: job }), requestContext });
    const body = JSON.stringify({ action: "cancel", topic: "orders" });
    await handler(eventOf("POST", "/jobs/bulk", { body }));
    expect(logged).toEqual([
      `a call changed a topic, a schedule or many jobs: ${JSON.stringify({ call: "pauseTopic", topic: "orders", caller: userArn })}`,
      `a call changed a topic, a schedule or many jobs: ${JSON.stringify({ call: "bulk", topic: "orders" })}`,
    ]);
  });

  const long = `auth0|${"é".repeat(100)}`;
  test.each<[string, object, string | undefined]>([
    ["a JWT's `sub`", { jwt: { claims: { sub: "auth0|shop:17" }, scopes: null } }, "auth0|shop:17"],
    [
      "a long `sub`, cut as a session's name is",
      { jwt: { claims: { sub: long } } },
      truncate(long, ACTOR_NAME_BYTES),
    ],
    ["the `principalId` of a Lambda authorizer's context", { lambda: { principalId: "shop/17" } }, "shop/17"],
    ["no name, if the token has no `sub`", { jwt: { claims: { scope: "jobs" } } }, undefined],
    ["no name, if the `sub` is no text", { jwt: { claims: { sub: "" } }, lambda: null }, undefined],
    ["no name, if the Lambda authorizer has given none", { lambda: { principalId: 17 } }, undefined],
    ["no name, if the Lambda authorizer has no context", { lambda: null }, undefined],
  ])("names in the timeline %s", async (_, authorizer, name) => {
    const { handler, file, call } = createHandler();
    const { id } = await file({ delay: "1h" });
    const context = { http: { method: "DELETE" }, authorizer };
    const requestContext = context as unknown as APIGatewayProxyEventV2["requestContext"];
    await handler({ ...eventOf("DELETE", `/jobs/${id}`), requestContext });
    const { json } = await call("GET", `/jobs/${id}`);
    const by = { kind: "caller", ...(name !== undefined && { name }) };
    expect(json.timeline).toMatchObject([{}, { event: "cancelled", by }]);
    expect((json.timeline as { by: object }[]).at(-1)?.by).toEqual(by);
  });

  test("is answered in API Gateway's format, and telemetry is flushed", async () => {
    const { handler, answered } = createHandler();
    const result = await handler(eventOf("POST", "/jobs", { body: job }));
    expect(result).toMatchObject({ statusCode: 201, isBase64Encoded: false });
    expect(result.headers).toMatchObject({ "content-type": "application/json", location: /^\/jobs\// });
    expect(JSON.parse(result.body ?? "")).toMatchObject({ body: "é" });
    expect(answered()).toBe(1);
  });

  test("may carry its body in base 64, whatever its type", async () => {
    const { handler } = createHandler();
    const parts = { body: Buffer.from(job).toString("base64"), isBase64Encoded: true };
    const result = await handler(eventOf("POST", "/jobs", parts));
    expect(JSON.parse(result.body ?? "")).toMatchObject({ body: "é" });
    const broken = { body: Buffer.from([0x7b, 0xff]).toString("base64"), isBase64Encoded: true };
    expect(await handler(eventOf("POST", "/jobs", broken))).toMatchObject({ statusCode: 400 });
  });

  test("may come with its path decoded or not", async () => {
    const { handler } = createHandler();
    const body = JSON.stringify({ body: 1, delay: "1h" });
    expect(await handler(eventOf("PUT", "/topics/orders/jobs/a:b", { body }))).toMatchObject({
      statusCode: 201,
    });
    for (const path of ["/topics/orders/jobs/a:b", "/topics/orders/jobs/a%3Ab"]) {
      expect(await handler(eventOf("GET", path))).toMatchObject({ statusCode: 200 });
    }
  });

  test.each([
    "a#b",
    "a?",
    "a?b",
    "a\nb",
    "a\t",
    "a\\b",
    "a/../a",
    "../a",
    "a/%2e",
    ".",
    "%2E%2e",
    "a%",
    "\ud800",
    "ä",
  ])("never cancels the job of another key: %j", async (key) => {
    const { handler, call } = createHandler();
    await call("PUT", "/topics/orders/jobs/a", { body: { body: 1, delay: "1h" } });
    const result = await handler(eventOf("DELETE", `/topics/orders/jobs/${key}`));
    expect([400, 404]).toContain(result.statusCode);
    expect(result.headers).toMatchObject({ "content-type": "application/problem+json" });
    expect((await call("GET", "/topics/orders/jobs/a")).json.state).toBe("scheduled");
  });

  test.each(["/jobs/", "//jobs", "/topics//jobs/a", "/topics/orders/jobs/a/", "/jobs/a/b"])(
    "has no route if its path is %s",
    async (path) => {
      const { handler } = createHandler();
      expect(await handler(eventOf("GET", path))).toMatchObject({ statusCode: 404 });
    },
  );

  test.each([
    ["PUT?", "/jobs"],
    ["", "/jobs"],
    ["GET", "jobs"],
  ])("of the method %j and the path %s is not valid", async (method, path) => {
    const { handler } = createHandler();
    expect(await handler(eventOf(method, path))).toMatchObject({ statusCode: 400 });
  });

  test("may have a body that begins with a byte order mark, as text or in base 64", async () => {
    const { handler } = createHandler();
    const body = `\ufeff${job}`;
    const inBase64 = { body: Buffer.from(body).toString("base64"), isBase64Encoded: true };
    for (const parts of [{ body }, inBase64])
      expect(await handler(eventOf("POST", "/jobs", parts))).toMatchObject({ statusCode: 201 });
  });

  test("has headers whose white space at the ends does not count", async () => {
    const { handler } = createHandler();
    const send = (key: string) =>
      handler(eventOf("POST", "/jobs", { body: job, headers: { "Idempotency-Key": key } }));
    await send("one");
    expect((await send(" one\t")).headers).toMatchObject({ "idempotent-replayed": "true" });
  });

  test("with an Idempotency-Key that is not ASCII is refused", async () => {
    const { handler } = createHandler();
    for (const name of ["é", "日", "a\nb"]) {
      const headers = { "idempotency-key": name, "user-agent": "日" };
      const result = await handler(eventOf("POST", "/jobs", { body: job, headers }));
      expect(result).toMatchObject({ statusCode: 400 });
    }
  });

  test("has a query string that is read to its end, also after a #", async () => {
    const { handler } = createHandler();
    const listed = await handler(eventOf("GET", "/jobs", { rawQueryString: "topic=orders&limit=5" }));
    expect(listed.statusCode).toBe(200);
    const cut = await handler(eventOf("GET", "/jobs", { rawQueryString: "topic=orders#&limit=x" }));
    expect(cut.statusCode).toBe(400);
  });

  test("of an odd method is refused", async () => {
    const { handler } = createHandler();
    for (const method of ["TRACE", "CONNECT", "PROPFIND"]) {
      const { statusCode, headers, body = "" } = await handler(eventOf(method, "/jobs"));
      expect({ statusCode, allow: headers?.allow }).toEqual({ statusCode: 405, allow: "POST, GET" });
      expect(JSON.parse(body)).toMatchObject({
        detail: `the method of /jobs must be one of POST, GET, got ${method}`,
      });
    }
  });

  test("a HEAD is answered as a GET, because API Gateway counts the length and sends no body", async () => {
    const { handler } = createHandler();
    for (const path of ["/health", "/openapi.json", "/nowhere", "/jobs/none"])
      expect(await handler(eventOf("HEAD", path))).toEqual(await handler(eventOf("GET", path)));
  });
});

describe("a receive whose caller has hung up", () => {
  const receive = eventOf("POST", "/topics/work/receive", { body: '{"waitSeconds": 20}' });

  test.each([
    ["while it waited", "receive", "after"],
    ["while it claimed the job", "changeMany", "after"],
  ] as const)("uses no attempt of the job that still comes: %s", async (_, operation, where) => {
    const { handler, world } = createHandler();
    const { id } = await world.file({ topic: "work", maxAttempts: 1 });
    const caller = new AbortController();
    const hangUp = (call: { operation: string }): void => {
      if (call.operation === operation) caller.abort();
    };
    world.queues.hooks[where] = hangUp;
    world.pool.hooks[where] = hangUp;
    const { body = "" } = await handler(receive, { [CALLER_GONE]: caller.signal });
    expect(caller.signal.aborted).toBe(true);
    expect(JSON.parse(body)).toEqual({ jobs: [] });
    expect(await world.home(id)).toMatchObject({ state: "scheduled", attempt: 0 });
    delete world.queues.hooks[where];
    delete world.pool.hooks[where];
    const again = await handler(receive);
    expect(JSON.parse(again.body ?? "")).toMatchObject({ jobs: [{ id, attempt: 1 }] });
  });
});
