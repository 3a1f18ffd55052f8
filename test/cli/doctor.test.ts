import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { SIZES } from "../../src/core/work-sizes.ts";
import type { App } from "../../src/http/app.ts";
import { cancel } from "../../src/protocol/change/cancel.ts";
import { shopWith, someFunction, templateOf } from "../infra/shop-stack.ts";
import { createApi } from "../support/api.ts";
import { startReceiver } from "../support/receiver.ts";
import { createWorld, MINUTE, SECOND, START } from "../support/world.ts";
import { type } from "./command-line.ts";
import { scriptAccount } from "./scripted-account.ts";
import { SERVICES, serveApi } from "./served-api.ts";

afterEach(() => {
  vi.unstubAllEnvs();
  vi.unstubAllGlobals();
});

const ARN = "arn:aws:iam::123456789012:user/ada";
const WHOLE = { arn: ARN, concurrency: 1000 };
const TEMPLATE = { Resources: {} };
const stacksAt = (value: string, status = "UPDATE_COMPLETE", template: object | undefined = TEMPLATE) => {
  const outputs = [{ key: "JobsApiUrl9C1", value, description: "Minutehand API" }];
  return { stacks: { Shop: { status, outputs, template } } };
};

describe("doctor", () => {
  test("finds nothing wrong with an API on this machine, and asks AWS nothing", async () => {
    await using api = await serveApi();
    await api.world.tick();
    const { code, out, err } = await type(api, ["doctor"]);
    expect(out.split("\n")).toEqual([
      "ok       node: v24.21.0",
      "ok       local database: native (dynoxide)",
      "ok       clock: same time as the API",
      `ok       API: ${api.url}`,
      `warning  versions: this program ${packageJson.version}, the API 1.2.3; install the same version here and in the stack`,
      "ok       sweep: on time",
      "ok       topics: 4 topics, no dead jobs",
      "",
    ]);
    expect({ code, err }).toEqual({ code: 0, err: "" });
  });

  test("checks the credentials, the stack and the quotas of a deployed API", async () => {
    await using api = await serveApi();
    await api.world.tick();
    await using _ = await scriptAccount({ ...WHOLE, ...stacksAt(api.url) });
    const { code, lines } = await type(api, ["doctor", "--stack", "Shop", "--json"], { env: {} });
    expect(code).toBe(0);
    expect(lines).toMatchObject([
      { check: "node", result: "ok" },
      { check: "local database", result: "ok" },
      { check: "credentials", result: "ok", found: ARN },
      { check: "stack", result: "ok", found: "Shop is UPDATE_COMPLETE" },
      { check: "clock", result: "ok" },
      { check: "API", result: "ok", found: api.url },
      { check: "versions" },
      { check: "sweep", result: "ok" },
      { check: "topics", result: "ok" },
      {
        check: "concurrency",
        result: "ok",
        found: "the account can run 1,000 functions at once; 2 topics and a tick with a backlog can need 83",
      },
    ]);
  });

  test("says what the runner on this machine warns of, and only of the API that it runs", async () => {
    await using api = await serveApi();
    const folder = mkdtempSync(join(tmpdir(), "minutehand-doctor-"));
    const doctorOf = async (url: string, pid = process.pid) => {
      const record = {
        pid,
        url,
        services: `${url}${SERVICES}`,
        emulators: [],
        warnings: ["a handler is not wrapped"],
      };
      mkdirSync(join(folder, ".minutehand"), { recursive: true });
      writeFileSync(join(folder, ".minutehand", "runner.json"), JSON.stringify(record));
      return type(api, ["doctor"], { folder });
    };
    expect((await doctorOf(api.url)).out).toContain("\nwarning  local stack: a handler is not wrapped\n");
    expect((await doctorOf("http://127.0.0.1:1")).out).not.toContain("local stack");
    const ended = spawnSync(process.execPath, ["--version"]).pid;
    expect((await doctorOf(api.url, ended)).out).not.toContain("local stack");
    rmSync(folder, { recursive: true });
  });

  test("warns of dead jobs, pauses and a late sweep, and fails if the sweep is very late", async () => {
    await using api = await serveApi();
    const { world, call, bury } = api;
    await world.tick();
    await bury();
    await call("POST", "/topics/orders/pause");
    await world.pass(160 * SECOND, { ticks: false });
    const warned = await type(api, ["doctor"]);
    expect(warned.out).toMatch(/^warning {2}sweep: 2m 40s behind; see the tick's log/m);
    expect(warned.out).toMatch(/^warning {2}topic work: 1 dead job; minutehand dead work, then redrive$/m);
    expect(warned.out).toMatch(/^warning {2}topic orders: paused since .*; minutehand resume orders$/m);
    expect(warned.code).toBe(0);
    await world.pass(MINUTE, { ticks: false });
    const failed = await type(api, ["doctor"]);
    expect(failed.out).toMatch(/^failed {3}sweep: 3m 40s behind/m);
    expect(failed).toMatchObject({ code: 1, err: "minutehand: 1 of the checks failed\n" });
  });

  test("fails if no sweep has ever run", async () => {
    await using api = await serveApi();
    const { code, out } = await type(api, ["doctor"]);
    expect(out).toMatch(/^failed {3}sweep: 13m behind; see the tick's log, and check that the tick's rule/m);
    expect(code).toBe(1);
  });

  test("names dead jobs whose dead letters are gone, and dead letters of untracked topics", async () => {
    await using api = await serveApi();
    const { world, call, file } = api;
    await world.tick();
    for (let i = 0; i < 2; i++) await file({ topic: "work", delay: 0 });
    const { json } = await call("POST", "/topics/work/receive", { body: { max: 10 } });
    for (const { receipt } of json.jobs as { receipt: string }[]) {
      await call("POST", "/topics/work/bury", { body: { receipt } });
    }
    world.queues.purge({ topic: "work", dead: true });
    await world.queues.send({ topic: "events", dead: true }, [{ body: "{}", delaySeconds: 0 }]);
    const { out } = await type(api, ["doctor"]);
    expect(out).toMatch(/^warning {2}topic work: 2 dead jobs; minutehand dead work, then redrive$/m);
    expect(out).toMatch(/^warning {2}topic events: 1 dead letter; read the messages in its DLQ$/m);
  });

  test("still checks the sweep and the other topics if the dead jobs of one topic cannot be listed", async () => {
    const inMemory = createApi();
    const app: App = async (request, ...rest) =>
      request.path === "/topics/orders/dead"
        ? { status: 403, headers: {}, body: "" }
        : inMemory.app(request, ...rest);
    await using api = await serveApi({ ...inMemory, app });
    await api.bury();
    const { code, out } = await type(api, ["doctor"]);
    expect(out).toMatch(/^failed {3}sweep: 13m behind/m);
    expect(out).toMatch(/^warning {2}topic orders: the dead jobs could not be counted: .*403/m);
    expect(out).toMatch(/^warning {2}topic work: 1 dead job; minutehand dead work, then redrive$/m);
    expect(code).toBe(1);
  });

  test("warns if there are no topics", async () => {
    await using api = await serveApi(createApi(createWorld({ topics: {} })));
    const { code, out } = await type(api, ["doctor"]);
    expect(out).toMatch(/API 1.2.3; .*\nwarning {2}topics: the queue has no topic; add topics in the app\n$/);
    expect(code).toBe(0);
  });

  test("names topics with late jobs that nobody runs, unless they are paused or held", async () => {
    await using api = await serveApi();
    const { world, call, file } = api;
    for (const topic of ["orders", "work"]) await file({ topic, delay: 1 });
    await world.pass(MINUTE);
    expect((await type(api, ["doctor"])).out).toMatch(/^ok {7}topics: 4 topics, no dead jobs, 2 late$/m);
    await world.pass(2 * MINUTE);
    const { out } = await type(api, ["doctor"]);
    expect(out).toMatch(
      /^warning {2}topic work: 1 job is late, the oldest since 2026-03-01T09:00:01.000Z, and nobody runs them; start a worker/m,
    );
    expect(out).toMatch(
      /^warning {2}topic orders: 1 job .* late, .* and nobody runs them; check that the topic has a consumer/m,
    );
    await call("POST", "/topics/orders/pause");
    expect((await type(api, ["doctor"])).out).not.toMatch(/topic orders: 1 job/);
  });

  test("says that the API has looked only at a part of very many jobs that were due just now", async () => {
    const world = createWorld({}, { ...SIZES, listEntries: 20 });
    await using api = await serveApi(createApi(world));
    await world.tick();
    for (let i = 0; i < 60; i++) await api.file({ topic: "orders", delay: 1 });
    await world.pass(90 * SECOND);
    const { out } = await type(api, ["doctor"]);
    expect(out).toMatch(
      /^ok {7}topics: 4 topics, no dead jobs, at least \d+ late; of the jobs that were due since 2026-.*Z, only a part was looked at$/m,
    );
    expect((await type(api, ["topics"])).out).toMatch(/^work .* 0\+ /m);
  });

  test("says so too if jobs that were late, and have run since, take the place of others", async () => {
    const world = createWorld({}, { ...SIZES, listEntries: 20, countEntries: 40 });
    await using api = await serveApi(createApi(world));
    await world.tick();
    const ids: string[] = [];
    for (let i = 0; i < 120; i++) ids.push(String((await api.file({ topic: "work", delay: 1 })).id));
    await world.pass(20 * MINUTE);
    for (const id of ids) await cancel(world.ctx, id);
    world.queues.purge({ topic: "work" });
    expect((await type(api, ["doctor"])).out).toMatch(
      /^ok {7}topics: 4 topics, no dead jobs; not all jobs were looked at, so some may be late$/m,
    );
  });

  test("says `at least` if the API has not looked at all jobs, and counts more than an hour back", async () => {
    const world = createWorld({}, { ...SIZES, listEntries: 20 });
    await using api = await serveApi(createApi(world));
    await world.tick();
    for (const topic of ["orders", "work"]) for (let i = 0; i < 30; i++) await api.file({ topic, delay: 1 });
    await world.pass(3 * 60 * MINUTE);
    const { out } = await type(api, ["doctor"]);
    expect(out).toMatch(/topic work: at least \d+ jobs are late, the oldest since 2026-03-01T09:00:01.000Z/);
  });

  test("judges by the API's clock, and takes a topic that is resuming without parked jobs as running", async () => {
    await using api = await serveApi();
    const { world, call, file } = api;
    await world.tick();
    await call("POST", "/topics/work/pause");
    await file({ topic: "work", delay: 1 });
    await world.pass(3 * MINUTE);
    await call("POST", "/topics/work/resume");
    await world.pass(4 * MINUTE);
    const report = (await call("GET", "/topics/work")).json;
    expect(report.pause).toMatchObject({ state: "resuming", parked: 0 });
    expect((await type(api, ["doctor"])).out).toMatch(/^warning {2}topic work: 1 job is late/m);
  });

  test("names a topic whose messages nobody receives", async () => {
    await using api = await serveApi();
    await api.world.tick();
    for (let i = 0; i < 100; i++) await api.file({ delay: 0, group: `g${i}` });
    const { out } = await type(api, ["doctor"]);
    expect(out).toMatch(
      /^warning {2}topic orders: 100 messages wait, and no consumer receives them; see the consumer's log$/m,
    );
  });

  test.each([
    [-10, "warning", "10s behind the API"],
    [330, "failed", "5m 29s ahead of the API"],
  ])("says that the clock is %i s off", async (seconds, result, found) => {
    await using api = await serveApi();
    const { now } = api.world;
    const skewed = { ...api, world: { ...api.world, now: () => now() + seconds * SECOND } };
    const { lines } = await type(skewed, ["doctor", "--json"]);
    expect(lines).toContainEqual(expect.objectContaining({ check: "clock", result, found }));
  });

  test.each([
    [{ date: new Date(START - 330 * SECOND).toUTCString() }, "failed", "5m 29s ahead of the API"],
    [{}, "warning", "the answer has no Date header"],
  ])("still checks the clock if the API refuses every call: %j", async (headers, result, found) => {
    await using server = await startReceiver((_, response) => {
      response.sendDate = false;
      response.writeHead(403, headers).end();
    });
    const env = { MINUTEHAND_URL: `http://127.0.0.1:${server.port}` };
    const { code, lines } = await type(undefined, ["doctor", "--json"], { env });
    expect(lines.slice(1)).toMatchObject([
      { check: "local database" },
      { check: "clock", result, found },
      { check: "API", result: "failed" },
    ]);
    expect(code).toBe(1);
  });

  test("calls AWS in the region of the API's URL, and says that a region is missing if the URL has none", async () => {
    await using account = await scriptAccount(WHOLE);
    vi.stubEnv("AWS_REGION", undefined);
    vi.stubEnv("AWS_CONFIG_FILE", "/dev/null");
    vi.stubGlobal("fetch", async () => new Response(null, { status: 403 }));
    const far = "https://abc.execute-api.eu-south-2.amazonaws.com";
    await type(undefined, ["doctor", "--url", far], { env: {} });
    expect(account.regions).toEqual(["eu-south-2"]);
    const { lines } = await type(undefined, ["doctor", "--json", "--url", "https://example.com"], {
      env: {},
    });
    expect(lines.at(-1)).toMatchObject({
      check: "API",
      result: "failed",
      found: expect.stringMatching(/^region must be given to sign calls of example.com/),
    });
  });

  test("stops at the API if it cannot be reached", async () => {
    const { code, out, err } = await type(undefined, ["doctor"]);
    expect(out).toMatch(
      /^ok .*node.*\nok .*local database.*\nfailed {3}API: the request cannot be sent: fetch calls no server on port 1 .*\n$/,
    );
    expect({ code, err }).toEqual({ code: 1, err: "minutehand: 1 of the checks failed\n" });
  });

  test("fails if the credentials have expired, and if the stack is not found", async () => {
    await using _ = await scriptAccount({});
    const { code, out } = await type(undefined, ["doctor", "--stack", "Shop"]);
    expect(out).toMatch(/^failed {3}credentials: STS .*the token has expired; log in to AWS/m);
    expect(out).toMatch(/^failed {3}stack: there is no stack Shop in this account and region/m);
    expect(code).toBe(1);
  });

  test.each([
    ["UPDATE_IN_PROGRESS", "warning", 0],
    ["UPDATE_ROLLBACK_COMPLETE", "warning", 0],
    ["ROLLBACK_COMPLETE", "failed", 1],
    ["UPDATE_ROLLBACK_FAILED", "failed", 1],
  ])("a stack in the state %s has the result %s", async (status, result, expected) => {
    await using api = await serveApi();
    await api.world.tick();
    await using _ = await scriptAccount({ ...WHOLE, ...stacksAt(api.url, status) });
    const { code, lines } = await type(api, ["doctor", "--stack", "Shop", "--json"]);
    expect(lines[3]).toMatchObject({ check: "stack", result, found: `Shop is ${status}` });
    expect(code).toBe(expected);
  });

  test.each([
    [
      { arn: ARN, concurrency: 82 },
      "the account can run 82 functions at once; 2 topics and a tick with a backlog can need 83",
    ],
    [{ arn: ARN }, /^Lambda did not say how many functions may run at once: .*/],
  ])("warns if the account's concurrency is too small or unknown: %j", async (account, found) => {
    await using api = await serveApi();
    await api.world.tick();
    await using _ = await scriptAccount({ ...account, ...stacksAt(api.url) });
    const { code, lines } = await type(api, ["doctor", "--stack", "Shop", "--json"]);
    const said = typeof found === "string" ? found : expect.stringMatching(found);
    expect(lines.at(-1)).toMatchObject({ check: "concurrency", result: "warning", found: said });
    expect(code).toBe(0);
  });

  test.each([
    [{}, 83, "ok", "2 topics and a tick with a backlog can need 83", undefined],
    [{ tickConcurrency: 2 }, 20, "ok", "2 topics can need 20", undefined],
    [{ tickSweepers: 4 }, 24, "ok", "2 topics and a tick with a backlog can need 24", undefined],
    [{ tickSweepers: 0 }, 20, "ok", "2 topics can need 20", undefined],
    [
      { topics: { orders: { pollers: { min: 2, max: 100 } }, events: { tracking: "none" } } },
      1000,
      "warning",
      "2 topics and a tick with a backlog can need 1,078",
      "ask AWS to raise Lambda's quota L-B99A9384 (Concurrent executions), or lower `max` of the pollers",
    ],
  ] as const)(
    "judges the account's concurrency by the stack's own settings: %j",
    async (props, concurrency, result, found, todo) => {
      await using api = await serveApi();
      await api.world.tick();
      const { stack, queue } = shopWith({ topics: { orders: {}, events: { tracking: "none" } }, ...props });
      for (const topic of ["orders", "events"]) queue.addConsumer(topic, someFunction(stack, topic));
      const stacks = stacksAt(api.url, "UPDATE_COMPLETE", templateOf(stack));
      await using _ = await scriptAccount({ arn: ARN, concurrency, ...stacks });
      const { lines } = await type(api, ["doctor", "--stack", "Shop", "--json"]);
      expect(lines.at(-1)).toEqual({
        check: "concurrency",
        result,
        found: `the account can run ${concurrency.toLocaleString("en")} functions at once; ${found}`,
        todo,
      });
    },
  );

  test("counts the executions of targets: for each invocation of their caller as many as the topic's concurrency", async () => {
    const topics = { orders: { concurrency: 4 }, events: {}, other: {} };
    await using api = await serveApi(createApi(createWorld({ topics })));
    await api.world.tick();
    const { stack, queue } = shopWith({ topics, tickSweepers: 0 });
    const target = someFunction(stack, "Target");
    queue.addTarget("orders", target);
    queue.addTarget("events", target.currentVersion);
    queue.addConsumer("other", someFunction(stack, "Other"));
    const stacks = stacksAt(api.url, "UPDATE_COMPLETE", templateOf(stack));
    await using _ = await scriptAccount({ arn: ARN, concurrency: 94, ...stacks });
    const { lines } = await type(api, ["doctor", "--stack", "Shop", "--json"]);
    expect(lines.at(-1)).toEqual({
      check: "concurrency",
      result: "warning",
      found: "the account can run 94 functions at once; 3 topics and 2 targets can need 95",
      todo: "ask AWS to raise Lambda's quota L-B99A9384 (Concurrent executions), or lower `concurrency` of the topics with targets",
    });
  });

  test("warns if it may not read the stack's template, and judges the concurrency without it", async () => {
    await using api = await serveApi();
    await api.world.tick();
    const {
      Shop: { status, outputs },
    } = stacksAt(api.url).stacks;
    await using _ = await scriptAccount({ ...WHOLE, stacks: { Shop: { status, outputs } } });
    const { lines, code } = await type(api, ["doctor", "--stack", "Shop", "--json"]);
    expect(lines.slice(-2)).toMatchObject([
      {
        check: "concurrency",
        result: "warning",
        found: "CloudFormation did not say what the stack Shop reserves: not authorized",
        todo: "allow cloudformation:GetTemplate for this check",
      },
      { check: "concurrency", result: "ok" },
    ]);
    expect(code).toBe(0);
  });

  test("warns of a Node that cannot run the stack on this machine", async () => {
    await using api = await serveApi();
    const { lines } = await type(api, ["doctor", "--json"], { nodeVersion: "v22.12.0" });
    expect(lines[0]).toMatchObject({ check: "node", result: "warning", found: "v22.12.0" });
  });
});
