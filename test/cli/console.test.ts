import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, test, vi } from "vitest";
import {
  ABOUT_PATH,
  type About,
  ACTIONS_PATH,
  HISTORY_PATH,
  KEY_HEADER,
  LOGS_PATH,
} from "../../console/about.ts";
import { SIZES } from "../../src/core/work-sizes.ts";
import { inConsole, logUrl as logUrlTo } from "../../src/settings/log-groups.ts";
import { type Asked, ask } from "../console/ask.ts";
import { beyondLoopback, listenersOf } from "../security/listeners.ts";
import { createApi } from "../support/api.ts";
import { startReceiver } from "../support/receiver.ts";
import { createWorld } from "../support/world.ts";
import { type } from "./command-line.ts";
import { scriptAccount } from "./scripted-account.ts";
import { type ServedApi, serveApi } from "./served-api.ts";

const MAIN = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));
const ADDRESS = /http:\/\/minutehand-[0-9a-f]{32}\.localhost:\d+\/console#key=[0-9a-f-]{36}/;

afterEach(() => {
  vi.unstubAllEnvs();
});

/** Runs `minutehand console` as a user does, until the end of the test. */
function start(args: readonly string[]) {
  const child = spawn(process.execPath, [MAIN, "console", ...args]);
  const said = { out: "", err: "" };
  child.stdout.on("data", (data) => {
    said.out += data;
  });
  child.stderr.on("data", (data) => {
    said.err += data;
  });
  const closed = once(child, "close");
  const opened = async () => {
    await expect.poll(() => said.out + said.err).toMatch(/\n/);
    const [address = ""] = ADDRESS.exec(said.out) ?? [];
    const { origin, hash } = new URL(address);
    return { address, origin, key: hash.slice("#key=".length) };
  };
  return {
    child,
    said,
    closed,
    opened,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await closed;
    },
  };
}

const withKey = (key: string): Asked => ({ headers: { [KEY_HEADER]: key } });

/** What a page of this server knows about the server. */
async function aboutAt(origin: string, key: string): Promise<About> {
  return JSON.parse((await ask(origin, ABOUT_PATH, withKey(key))).text);
}

describe("minutehand console", () => {
  test("prints an address whose key opens the API, and runs until Ctrl-C", async () => {
    await using api = await serveApi();
    await using command = start(["--url", api.url, "--port", "0"]);
    const { address, origin, key } = await command.opened();
    expect(command.said.out).toBe(`The console of ${api.url} is at ${address} until Ctrl-C.\n`);

    expect((await ask(origin, "/topics")).status).toBe(403);
    expect(api.authorizations).toEqual([]);
    const answered = await ask(origin, "/topics", withKey(key));
    expect(JSON.parse(answered.text)).toMatchObject({ topics: expect.any(Array) });
    expect(api.authorizations).toHaveLength(1);
    expect(beyondLoopback(listenersOf(command.child.pid ?? 0))).toEqual([]);

    command.child.kill("SIGINT");
    expect(await command.closed).toEqual([130, null]);
    expect(command.said.err).toBe("");
    await expect(ask(origin, "/")).rejects.toThrow("ECONNREFUSED");
  });

  test("makes another key and another host each time, and prints the key nowhere but in the address", async () => {
    await using api = await serveApi();
    await using one = start(["--url", api.url, "--port", "0"]);
    await using other = start(["--url", api.url, "--port", "0"]);
    const [{ key, origin }, second] = [await one.opened(), await other.opened()];
    expect(key).not.toBe(second.key);
    expect(new URL(origin).hostname).not.toBe(new URL(second.origin).hostname);
    await ask(origin, "/topics", withKey(second.key));
    await ask(origin, `/topics?key=${key}`);
    expect(one.said.out.split(key)).toHaveLength(2);
    expect(one.said.err).toBe("");
    expect((await ask(origin, "/console")).text).not.toContain(key);
    expect(JSON.stringify(await aboutAt(origin, key))).not.toContain(key);
  });

  test("--json prints the address as JSON", async () => {
    await using api = await serveApi();
    await using command = start(["--url", api.url, "--port", "0", "--json"]);
    await command.opened();
    expect(JSON.parse(command.said.out)).toEqual({ url: expect.stringMatching(ADDRESS) });
  });

  test("--stack shows the queue by the stack's name", async () => {
    await using api = await serveApi();
    const outputs = [{ key: "JobsApiUrl9C1", value: api.url, description: "Minutehand API" }];
    await using _ = await scriptAccount({ stacks: { Shop: { status: "CREATE_COMPLETE", outputs } } });
    await using command = start(["--stack", "Shop", "--port", "0"]);
    const { origin, address, key } = await command.opened();
    expect(command.said.out).toBe(`The console of Shop is at ${address} until Ctrl-C.\n`);
    const about = { queue: "Shop", url: api.url, auth: "none", hasLive: false };
    expect(await aboutAt(origin, key)).toEqual(about);
  });

  test("--stack reads the history from CloudWatch, and --url says that it does not", async () => {
    await using api = await serveApi();
    const outputs = [{ key: "JobsApiUrl9C1", value: api.url, description: "Minutehand API" }];
    const variables = { MINUTEHAND_QUEUE_URL_PREFIX: "https://sqs.eu-west-1.amazonaws.com/1/shop-" };
    const tick = { Type: "AWS::Lambda::Function", Properties: { Environment: { Variables: variables } } };
    const stack = { status: "CREATE_COMPLETE", outputs, template: { Resources: { Tick: tick } } };
    const minute = Math.floor(Date.now() / 60_000) * 60_000 - 60_000;
    await using _ = await scriptAccount({ stacks: { Shop: stack }, metrics: () => ({ [minute]: 7 }) });
    await using command = start(["--stack", "Shop", "--port", "0"]);
    const { origin, key } = await command.opened();
    expect(await ask(origin, HISTORY_PATH)).toMatchObject({ status: 403 });
    const { topics } = JSON.parse((await ask(origin, HISTORY_PATH, withKey(key))).text);
    expect(topics.length).toBeGreaterThan(0);
    expect(topics[0].minutes).toEqual([
      { at: minute, started: 7, failed: 7, dead: 7, late: { p50: 7, p99: 7 } },
    ]);

    await using other = start(["--url", api.url, "--port", "0"]);
    const opened = await other.opened();
    const { why } = JSON.parse((await ask(opened.origin, HISTORY_PATH, withKey(opened.key))).text);
    expect(why).toMatch(/start the console with --stack$/);
  });

  test("--url shows the queue by the URL's host, and --token is in no page", async () => {
    await using api = await serveApi();
    await using command = start(["--url", api.url, "--port", "0", "--token", "ey.secret"]);
    const { origin, key } = await command.opened();
    const about = await aboutAt(origin, key);
    expect(about).toMatchObject({ queue: new URL(api.url).host, auth: "bearer" });
    expect(JSON.stringify(about) + command.said.out + command.said.err).not.toContain("ey.secret");
    await ask(origin, "/topics", withKey(key));
    expect(api.authorizations).toEqual(["Bearer ey.secret"]);
  });

  test("reads the log of a job from CloudWatch, with the user's credentials, where the API says", async () => {
    await using api = await serveApi();
    const { id } = await api.file({ topic: "work", delay: 0 });
    const answered = (await api.call("GET", `/jobs/${id}`)).json as object;
    const logUrl = logUrlTo("eu-central-1", inConsole("/aws/lambda/Work"), `"${id}"`, 1000);
    await using named = await startReceiver((_, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ ...answered, logUrl }));
    });
    const stack = "Error: no\n    at own (own.ts:1:2)";
    const record = {
      message: "job threw",
      type: "threw",
      topic: "work",
      id,
      attempt: 1,
      error: { message: "no", stack },
    };
    const events = [{ message: `${JSON.stringify(record)}\n`, timestamp: 2000 }];
    await using logs = await startReceiver((_, response) => void response.end(JSON.stringify({ events })));
    vi.stubEnv("AWS_ENDPOINT_URL_CLOUDWATCH_LOGS", `http://127.0.0.1:${logs.port}`);
    vi.stubEnv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE");
    vi.stubEnv("AWS_SECRET_ACCESS_KEY", "secret");
    await using command = start(["--url", `http://127.0.0.1:${named.port}`, "--port", "0"]);
    const { origin, key } = await command.opened();
    expect((await ask(origin, `${LOGS_PATH}?job=${id}`)).status).toBe(403);
    expect(logs.received).toEqual([]);
    const log = JSON.parse((await ask(origin, `${LOGS_PATH}?job=${id}`, withKey(key))).text);
    const text = expect.stringMatching(/ {2}threw in attempt 1/);
    expect(log).toEqual({ lines: [{ text, at: 2000, trace: stack }], isWhole: true });
    const [asked] = logs.received;
    expect(asked?.headers.authorization).toMatch(/AKIDEXAMPLE\/\d+\/eu-central-1\/logs\//);
    expect(JSON.parse(asked?.body ?? "")).toMatchObject({
      ...{ logGroupName: "/aws/lambda/Work", filterPattern: `"${id}"`, startTime: 1000 },
    });
  });

  test("says that the API names no log of a job", async () => {
    await using api = await serveApi();
    const { id } = await api.file({ topic: "work", delay: 0 });
    await using command = start(["--url", api.url, "--port", "0"]);
    const { origin, key } = await command.opened();
    const { status, text } = await ask(origin, `${LOGS_PATH}?job=${id}`, withKey(key));
    expect(status).toBe(502);
    expect(JSON.parse(text).detail).toMatch(/^the API names no log of this job: /);
  });

  test("names a port that is in use, and how to choose another", async () => {
    const taken = createServer().listen(0, "127.0.0.1");
    await once(taken, "listening");
    const { port } = taken.address() as AddressInfo;
    const { code, out, err } = await type(undefined, ["console", "--port", String(port)]);
    taken.close();
    expect({ code, out, err }).toEqual({
      code: 1,
      out: "",
      err: `minutehand: port ${port} of 127.0.0.1 is in use by another program, such as the local stack of another folder: choose another port with --port, or a free one with --port 0\n`,
    });
  });

  test.each([
    [["--port", "65536"], /^minutehand: option '--port <n>' .*from 0 to 65535\.\n$/],
    [
      ["--url", "https://queue.example.com"],
      /^minutehand: region must be given .*; see --region and --token\n$/,
    ],
    [
      ["--url", "https://host", "--token", "a b"],
      /^minutehand: bearer must be a token .*; see --region and --token\n$/,
    ],
  ])("refuses %j", async (args, message) => {
    for (const name of ["AWS_REGION", "AWS_DEFAULT_REGION"]) vi.stubEnv(name, undefined);
    vi.stubEnv("AWS_CONFIG_FILE", "/dev/null");
    const { code, out, err } = await type(undefined, ["console", ...args], { env: {} });
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toMatch(message);
  });

  test("--view-only tells its page so, and refuses each change", async () => {
    await using api = await serveApi();
    await using command = start(["--url", api.url, "--port", "0", "--view-only"]);
    const { origin, key } = await command.opened();
    expect(await aboutAt(origin, key)).toMatchObject({ isViewOnly: true });
    expect((await ask(origin, "/topics", withKey(key))).status).toBe(200);
    const paused = await ask(origin, "/topics/orders/pause", { ...withKey(key), method: "POST" });
    expect(JSON.parse(paused.text)).toMatchObject({
      ...{ status: 403, code: "forbidden", detail: expect.stringContaining("--view-only") },
    });
  });
});

describe("Ctrl-C during an action on many jobs", () => {
  const TAG = "it's a sale";
  const RANGE = { from: "2026-03-01T12:00:00.000Z", to: "2026-03-01T16:00:00.000Z" };

  async function fileFive({ call }: ServedApi): Promise<void> {
    const job = { topic: "orders", body: {}, tag: TAG, dueAt: "2026-03-01T14:00:00Z" };
    const { json } = await call("POST", "/jobs/batch", {
      body: { jobs: Array.from({ length: 5 }, () => job) },
    });
    expect(json.results).toHaveLength(5);
  }

  /** How often each job was changed. A cancelled job keeps its revision. */
  async function changesOf({ call }: ServedApi): Promise<unknown[]> {
    const { json } = await call("GET", "/jobs?to=2026-03-02T16:00:00Z");
    const jobs = json.jobs as { revision: number; state: string }[];
    return jobs.map(({ revision, state }) => revision + Number(state === "cancelled"));
  }

  /** The words of a command as a shell splits them. */
  const wordsOf = (command: string) =>
    [...command.matchAll(/(?:\\'|[^\s']|'[^']*')+/g)].map(([word]) =>
      word.replaceAll("'\\''", "\0").replaceAll("'", "").replaceAll("\0", "'"),
    );

  test.each([
    { action: "cancel" },
    { action: "run", ratePerSecond: 5 },
    { action: "move", shift: "1h" },
    { action: "move", dueAt: "2026-03-01T15:00:00.000Z", reason: "no van" },
    { action: "move", delay: 7200, ratePerSecond: 0.5 },
  ])("prints the command that does the rest of %j, and changes no job twice", async (change) => {
    await using api = await serveApi(createApi(createWorld({}, { ...SIZES, bulkJobs: 2 })));
    await fileFive(api);
    await using command = start(["--url", api.url, "--port", "0"]);
    const { origin, key } = await command.opened();
    // The API answers the second part only after Ctrl-C.
    const [reached, over] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const before = api.authorizations.length;
    api.world.pool.hooks.before = async ({ operation }) => {
      if (operation !== "page" || api.authorizations.length !== before + 2) return;
      reached.resolve();
      await over.promise;
    };
    const plan = { change, lines: [{ which: { topic: "orders", tag: TAG, ...RANGE }, counted: 5 }] };
    const started = { ...withKey(key), method: "POST", body: JSON.stringify(plan) };
    expect((await ask(origin, ACTIONS_PATH, started)).status).toBe(201);
    await reached.promise;
    command.child.kill("SIGINT");
    // So long the command has surely got the signal.
    await setTimeout(300);
    over.resolve();
    expect(await command.closed).toEqual([130, null]);
    const [, printed = ""] =
      /^the console was changing jobs of orders \(\w+\): 4 jobs of 5 changed; to continue, run: (.*)\n$/.exec(
        command.said.err,
      ) ?? [];
    const [program, ...args] = wordsOf(printed);
    expect(program).toBe("minutehand");
    delete api.world.pool.hooks.before;
    const rest = await type(api, args, { env: {} });
    expect(rest).toMatchObject({ code: 0, err: "", out: expect.stringMatching(/ 1 job of orders /) });
    expect(await changesOf(api)).toEqual([1, 1, 1, 1, 1]);
  });
});
