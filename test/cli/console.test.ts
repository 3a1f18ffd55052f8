import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, test, vi } from "vitest";
import { ABOUT_PATH, type About, KEY_HEADER, LOGS_PATH } from "../../console/about.ts";
import { inConsole, logUrl as logUrlTo } from "../../src/settings/log-groups.ts";
import { type Asked, ask } from "../console/ask.ts";
import { beyondLoopback, listenersOf } from "../security/listeners.ts";
import { startReceiver } from "../support/receiver.ts";
import { type } from "./command-line.ts";
import { scriptAccount } from "./scripted-account.ts";
import { serveApi } from "./served-api.ts";

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
      err: `minutehand: port ${port} of 127.0.0.1 is in use; choose another port with --port, or a free one with --port 0\n`,
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
});
