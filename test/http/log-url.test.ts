import type { APIGatewayProxyEventV2 } from "aws-lambda";
import { expect, test } from "vitest";
import { serveEvents } from "../../src/http/lambda.ts";
import { redrive } from "../../src/protocol/change/redrive.ts";
import { logVariables } from "../../src/settings/log-groups.ts";
import { createApi, type Json } from "../support/api.ts";
import { consume } from "../support/consume.ts";
import { HOUR, MINUTE } from "../support/world.ts";

const VARIABLES = logVariables({ region: "eu-central-1", groups: { orders: "/shop/orders" } });

async function reader() {
  const api = createApi();
  const handler = serveEvents(api.app, {});
  return {
    ...api,
    async read(
      rawPath: string,
      stageVariables: Record<string, string> | undefined = VARIABLES,
    ): Promise<Json> {
      const event = { rawPath, rawQueryString: "", headers: {}, requestContext: { http: { method: "GET" } } };
      const { body } = await handler({ ...event, stageVariables } as unknown as APIGatewayProxyEventV2);
      return JSON.parse(body ?? "");
    },
  };
}

function decodedHash({ logUrl }: Json): string {
  const { hash } = new URL(String(logUrl));
  return decodeURIComponent(decodeURIComponent(hash.replaceAll("$", "%")));
}

test("a job that has run, and the list of dead jobs, say where the log of its runs is", async () => {
  const { world, file, read } = await reader();
  const { id } = await file({ delay: 0, key: "k", maxAttempts: 1 });
  expect(await read(`/jobs/${id}`)).not.toHaveProperty("logUrl");
  await world.pass(MINUTE);
  await consume(world, "orders", { run: () => ({ end: "failed", error: "no bank" }) });

  const job = await read(`/jobs/${id}`);
  expect(job).toMatchObject({ state: "dead", logUrl: expect.any(String) });
  const url = new URL(String(job.logUrl));
  expect(url.host).toBe("eu-central-1.console.aws.amazon.com");
  expect(url.hash).toContain("/log-group/$252Fshop$252Forders/");
  expect(decodedHash(job)).toBe(
    `#logsV2:log-groups/log-group//shop/orders/log-events?filterPattern="${id}"&start=${Date.parse(String(job.createdAt))}`,
  );
  expect(await read("/topics/orders/jobs/k")).toMatchObject({ logUrl: job.logUrl });
  expect(await read("/topics/orders/dead")).toMatchObject({ jobs: [{ id, logUrl: job.logUrl }] });
});

test("a dead job that is redriven, and has attempt 0 again, still says where the log of its runs is", async () => {
  const { world, file, read } = await reader();
  const { id } = await file({ delay: 0, maxAttempts: 1 });
  await consume(world, "orders", { run: () => ({ end: "failed", error: "no bank" }) });
  await redrive(world.ctx, "orders", { ids: [String(id)], max: 1, delay: HOUR });
  expect(await read(`/jobs/${id}`)).toMatchObject({
    state: "scheduled",
    attempt: 0,
    logUrl: expect.any(String),
  });
});

test("the log of a job that ran before it was due at first begins at its run", async () => {
  const { call, world, file, read } = await reader();
  const { id } = await file({ delay: HOUR / 1000 });
  await call("PATCH", `/jobs/${id}`, { body: { delay: 0 } });
  await consume(world, "orders");
  const job = await read(`/jobs/${id}`);
  expect(decodedHash(job)).toMatch(RegExp(`&start=${Date.parse(String(job.claimedAt))}$`));
});

test("logUrl is absent if the log group is unknown", async () => {
  const { bury, world, file, read } = await reader();
  const pulled = await bury();
  expect(await read(`/jobs/${pulled}`)).not.toHaveProperty("logUrl");
  const { id } = await file({ delay: 0, maxAttempts: 1 });
  await consume(world, "orders", { run: () => ({ end: "failed", error: "no bank" }) });
  expect(await read(`/jobs/${id}`, {})).not.toHaveProperty("logUrl");
});
