import { chmodSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { RunnerRecord } from "../../local/runner-record.ts";
import { startAwsEndpoint } from "../../local/services/aws-endpoint.ts";
import { startReceiver } from "../support/receiver.ts";
import { writeRunnerRecord } from "../support/runner-record.ts";
import { type } from "./command-line.ts";
import { scriptAccount } from "./scripted-account.ts";
import { SERVICES, type ServedApi, serveApi } from "./served-api.ts";

afterEach(() => {
  vi.unstubAllEnvs();
  vi.unstubAllGlobals();
});

const output = (value: string, key = "JobsApiUrl9C1", description = "Minutehand API") => ({
  key,
  value,
  description,
});
const stacks = (...outputs: ReturnType<typeof output>[]) => ({
  stacks: { Shop: { status: "CREATE_COMPLETE", outputs } },
});
const topics = ["topics", "--names"];

/** Writes the record of the runner that serves `api`. */
function record(folder: string, { url }: Pick<ServedApi, "url">): string {
  return writeRunnerRecord(folder, { url, services: `${url}${SERVICES}` });
}

/** A `fetch` that finds the API at `url` behind the default port. */
function fetchingFrom(url: string): typeof fetch {
  const { fetch } = globalThis;
  return (...call) => {
    const request = new Request(...call);
    return fetch(new Request(request.url.replace("http://127.0.0.1:4500/", `${url}/`), request));
  };
}

describe("the API that a command calls", () => {
  test("is the one at --url, even if MINUTEHAND_URL names another", async () => {
    await using api = await serveApi();
    const { code } = await type(api, [...topics, "--url", `${api.url}/`], {
      env: { MINUTEHAND_URL: "ftp://no" },
    });
    expect(code).toBe(0);
  });

  test("is the stack's output that the description calls Minutehand API, whatever the output's name is", async () => {
    await using api = await serveApi();
    const account = stacks(output("https://other", "ApiUrl", "of something else"), output(api.url));
    await using _ = await scriptAccount(account);
    expect(await type(api, ["--stack", "Shop", ...topics])).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^orders\n/),
    });
  });

  test("is the stack's output ApiUrl if no output has that description", async () => {
    await using api = await serveApi();
    await using _ = await scriptAccount(stacks(output(api.url, "ApiUrl", "")));
    expect((await type(api, ["--stack", "Shop", ...topics])).code).toBe(0);
  });

  test.each([
    [
      stacks(),
      'the stack Shop has no output with the description "Minutehand API" or the name ApiUrl: give the API\'s URL with --url',
    ],
    [
      stacks(output("http://a"), output("http://b", "B")),
      "the stack Shop has 2 APIs: choose one with --url from http://a, http://b",
    ],
    [{}, "there is no stack Shop in this account and region (see --profile and --region)"],
  ])("is not found in the stack: %#", async (account, message) => {
    await using _ = await scriptAccount(account);
    const { code, err } = await type(undefined, ["--stack", "Shop", ...topics]);
    expect({ code, err }).toEqual({ code: 1, err: `minutehand: ${message}\n` });
  });

  test("is not found without the package of the AWS SDK, and the error names only the package", async () => {
    const { code, err } = await type(undefined, ["--stack", "Shop", ...topics], { isInstalled: () => false });
    const message =
      /^minutehand: --stack needs the npm package @aws-sdk\/client-cloudformation, which is not installed: npm install --save-dev \S+\n$/;
    expect({ code, err }).toEqual({ code: 1, err: expect.stringMatching(message) });
  });

  test("is not found without a region, and the error names --region", async () => {
    await using _ = await scriptAccount({});
    for (const name of ["AWS_REGION", "AWS_DEFAULT_REGION"]) vi.stubEnv(name, undefined);
    vi.stubEnv("AWS_CONFIG_FILE", "/dev/null");
    const { code, err } = await type(undefined, ["--stack", "Shop", ...topics]);
    expect({ code, err }).toEqual({
      code: 1,
      err: "minutehand: CloudFormation did not describe the stack Shop: Region is missing (see --profile and --region)\n",
    });
  });

  test.each([
    [["--url", "nonsense"], '--url must be an http: or https: URL, got "nonsense"'],
    [["--url", "ftp://host"], '--url must be an http: or https: URL, got "ftp://host"'],
    [["--url", "https://ada:pass@word@host"], "--url must be a URL without user name and password"],
    [["--url", "https://ada:pass@[host"], '--url must be an http: or https: URL, got "https://…@[host"'],
    [["--url", "https://host/v1?"], '--url must be a URL without ? and #, got "https://host/v1?"'],
    [["--url", "https://host#a"], '--url must be a URL without ? and #, got "https://host#a"'],
  ])("must not be %j", async (args, message) => {
    const { code, err } = await type(undefined, [...args, ...topics]);
    expect({ code, err }).toEqual({ code: 2, err: `minutehand: ${message}\n` });
  });

  test("is the one of minutehand local if it answers", async () => {
    await using api = await serveApi();
    const fetchFrom = fetchingFrom(api.url);
    const asked: string[] = [];
    vi.stubGlobal("fetch", (...call: Parameters<typeof fetch>) => {
      asked.push(new Request(...call).url);
      return fetchFrom(...call);
    });
    expect((await type(api, topics, { env: {} })).code).toBe(0);
    expect(asked).toEqual(["http://127.0.0.1:4500/health", "http://127.0.0.1:4500/topics"]);
  });

  test("is the local stack of the own folder before whatever answers at the default port", async () => {
    await using api = await serveApi();
    await using folder = await mkdtempDisposable(join(tmpdir(), "minutehand-"));
    record(folder.path, api);
    expect((await type(api, topics, { env: {}, folder: folder.path })).code).toBe(0);
    expect(api.authorizations).toEqual([undefined, undefined]);
  });

  test("is the local stack of the next folder above that has one", async () => {
    await using api = await serveApi();
    await using other = await serveApi();
    await using folder = await mkdtempDisposable(join(tmpdir(), "minutehand-"));
    const inner = join(folder.path, "shop", "src", "jobs");
    mkdirSync(inner, { recursive: true });
    record(folder.path, other);
    record(join(folder.path, "shop"), api);
    writeRunnerRecord(inner, { url: other.url, services: other.url, pid: 2 ** 30 });
    expect((await type(api, topics, { env: {}, folder: inner })).code).toBe(0);
    expect([api.authorizations.length, other.authorizations.length]).toEqual([2, 0]);
  });

  test("is the local stack of the folder before MINUTEHAND_URL, and the command says so even to a script", async () => {
    await using api = await serveApi();
    await using other = await serveApi();
    await using folder = await mkdtempDisposable(join(tmpdir(), "minutehand-"));
    record(folder.path, api);
    const typed = { env: { MINUTEHAND_URL: other.url }, folder: folder.path };
    const { code, out, err } = await type(api, [...topics, "--json"], typed);
    expect({ code, lines: out.trim().split("\n").length }).toEqual({ code: 0, lines: 4 });
    expect(err).toBe(
      `this command calls the local stack of ${folder.path} (${api.url}), and not MINUTEHAND_URL: name another API with --url or --stack\n`,
    );
    expect(other.authorizations).toEqual([]);
    const named = await type(api, [...topics, "--url", other.url], typed);
    expect({ code: named.code, err: named.err }).toEqual({ code: 0, err: "" });
    expect(other.authorizations).toHaveLength(1);
  });

  test("is nothing to speak of if MINUTEHAND_URL names the local stack of the folder", async () => {
    await using api = await serveApi();
    await using folder = await mkdtempDisposable(join(tmpdir(), "minutehand-"));
    record(folder.path, api);
    const env = { MINUTEHAND_URL: api.url.replace("127.0.0.1", "localhost") };
    expect(await type(api, topics, { env, folder: folder.path })).toMatchObject({ code: 0, err: "" });
  });

  test("is named on a terminal, once, unless the command line or --json does without", async () => {
    await using api = await serveApi();
    await using folder = await mkdtempDisposable(join(tmpdir(), "minutehand-"));
    const env = { MINUTEHAND_URL: api.url };
    const said = async (args: string[], typed: object) =>
      (await type(api, args, { terminal: true, ...typed })).err;
    expect(await said(topics, { env })).toBe(`this command calls ${api.url}: MINUTEHAND_URL\n`);
    expect(await said([...topics, "--json"], { env })).toBe("");
    expect(await said([...topics, "--url", api.url], { env })).toBe("");
    record(folder.path, api);
    expect(await said(["topics"], { env: {}, folder: folder.path })).toBe(
      `this command calls ${api.url}: the local stack of ${folder.path}\n`,
    );
    vi.stubGlobal("fetch", fetchingFrom(api.url));
    expect(await said(topics, { env: {} })).toBe(
      "this command calls http://127.0.0.1:4500: the default port\n",
    );
    expect((await type(api, topics, { env })).err).toBe("");
  });

  test("is named to a script too if only the default port names it", async () => {
    await using api = await serveApi();
    vi.stubGlobal("fetch", fetchingFrom(api.url));
    for (const args of [topics, [...topics, "--json"]])
      expect(await type(api, args, { env: {} })).toMatchObject({
        code: 0,
        err: "this command calls http://127.0.0.1:4500: the default port\n",
      });
  });

  test.each([
    ["erase many jobs", ["erase", "--topic", "orders", "--yes"]],
    ["cancel many jobs", ["cancel", "--topic", "orders", "--yes"]],
    ["redrive many jobs", ["redrive", "orders", "--tag", "sale", "--yes"]],
    ["move many jobs", ["reschedule", "--topic", "orders", "--delay", "1h", "--yes"]],
    ["file jobs", ["import", "shop.jsonl", "--yes"]],
    ["move a clock", ["clock", "+1h"]],
    ["file jobs", ["prove", "--topic", "orders", "--yes"]],
  ])("must be named by more than the default port to %s: %j", async (does, args) => {
    await using api = await serveApi();
    await using folder = await mkdtempDisposable(join(tmpdir(), "minutehand-"));
    writeFileSync(
      join(folder.path, "shop.jsonl"),
      `${JSON.stringify({ complete: "2026-03-01T09:00:00Z" })}\n`,
    );
    const { id } = await api.file({ topic: "orders", delay: "1h" });
    vi.stubGlobal("fetch", fetchingFrom(api.url));
    const { code, err } = await type(api, args, { env: {}, folder: folder.path });
    expect({ code, err }).toEqual({
      code: 2,
      err: expect.stringContaining(
        `minutehand: this command would ${does}, and nothing names the API but the default port: name it with --url http://127.0.0.1:4500, --stack or MINUTEHAND_URL\n`,
      ),
    });
    expect((await type(api, ["get", String(id), "--json"])).lines).toMatchObject([
      { state: "scheduled", revision: 0 },
    ]);
  });

  test("may be that of the default port for a dry run", async () => {
    await using api = await serveApi();
    vi.stubGlobal("fetch", fetchingFrom(api.url));
    expect((await type(api, ["erase", "--topic", "orders", "--dry-run"], { env: {} })).code).toBe(0);
  });

  test("is not another program at the default port", async () => {
    vi.stubGlobal("fetch", async () => Response.json({ status: "ok" }));
    expect(await type(undefined, topics, { env: {} })).toMatchObject({
      code: 2,
      err: expect.stringContaining("no API answers at http://127.0.0.1:4500"),
    });
  });

  test("is named in the error if it does not answer, unless the command line names it", async () => {
    const url = "http://127.0.0.1:2";
    const byEnv = await type(undefined, topics, { env: { MINUTEHAND_URL: url } });
    expect(byEnv).toMatchObject({
      code: 1,
      err: expect.stringMatching(/ \(the API is that of MINUTEHAND_URL\)\n$/),
    });
    const byFlag = await type(undefined, [...topics, "--url", url]);
    expect(byFlag).toMatchObject({ code: 1, err: expect.not.stringContaining("the API is that of") });
  });

  test("is not another one if the local stack of the folder runs and does not answer", async () => {
    await using api = await serveApi();
    await using frozen = await startReceiver(() => {});
    await using folder = await mkdtempDisposable(join(tmpdir(), "minutehand-"));
    record(folder.path, { url: `http://127.0.0.1:${frozen.port}` });
    const typed = { env: { MINUTEHAND_URL: api.url }, folder: folder.path };
    expect(await type(api, topics, typed)).toMatchObject({
      code: 2,
      err: `minutehand: the local stack of ${folder.path} (process ${process.pid}) does not answer: end it, or name an API with --url or --stack\n`,
    });
    expect(api.authorizations).toEqual([]);
  });

  test("is not the stack of a runner that has ended, although another process has its id and another runner its port", async () => {
    await using api = await serveApi();
    await using folder = await mkdtempDisposable(join(tmpdir(), "minutehand-"));
    const other = await startAwsEndpoint({}, { key: "other" });
    writeRunnerRecord(folder.path, {
      url: new URL(other.url).origin,
      services: other.url.replace("other", "old"),
    });
    const env = { MINUTEHAND_URL: api.url };
    expect(await type(api, topics, { env, folder: folder.path })).toMatchObject({ code: 0, err: "" });
    expect(api.authorizations).toHaveLength(1);
    await other.stop();
  });

  test("is not a program that has got the process id and the ports of a runner that has ended", async () => {
    await using api = await serveApi();
    await using other = await startReceiver((_, response) => response.end("<h1>hello</h1>"));
    await using folder = await mkdtempDisposable(join(tmpdir(), "minutehand-"));
    record(folder.path, { url: `http://127.0.0.1:${other.port}` });
    const env = { MINUTEHAND_URL: api.url };
    expect(await type(api, topics, { env, folder: folder.path })).toMatchObject({ code: 0, err: "" });
    expect(api.authorizations).toHaveLength(1);
  });

  test.each<[string, Partial<RunnerRecord>, (folder: string) => void]>([
    ["of a runner that has ended", { pid: 2 ** 30 }, () => {}],
    ["with another machine's URL", { url: "http://10.0.0.1:4500" }, () => {}],
    ["with a URL that leads elsewhere", { url: "http://127.0.0.1@10.0.0.1:4500" }, () => {}],
    ["with no URL", { url: "nonsense" }, () => {}],
    ["with another machine's services", { services: "http://10.0.0.1:4500" }, () => {}],
    ["in a folder that others may write", {}, (folder) => chmodSync(folder, 0o777)],
    ["that others may write", {}, (folder) => chmodSync(join(folder, "runner.json"), 0o666)],
    [
      "of another user, which is no record",
      {},
      (folder) => {
        writeFileSync(join(folder, "runner.json"), "null");
        chmodSync(folder, 0o777);
      },
    ],
    [
      "that others may replace by a link",
      {},
      (folder) => {
        renameSync(folder, `${folder}.theirs`);
        symlinkSync(`${folder}.theirs`, folder);
      },
    ],
  ])("is not the stack of a record %s", async (_, written, spoil) => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "minutehand-"));
    const url = "http://127.0.0.1:2";
    spoil(writeRunnerRecord(folder.path, { url, services: url, ...written }));
    const asked: string[] = [];
    vi.stubGlobal("fetch", async (url: string) => {
      asked.push(url);
      throw new TypeError("fetch failed");
    });
    expect((await type(undefined, topics, { env: {}, folder: folder.path })).code).toBe(2);
    expect(asked).toEqual(["http://127.0.0.1:4500/health"]);
  });

  test.each([
    ["topics", topics, ""],
    ["a job", ["enqueue", "orders", "--delay", "0", "--body", "{}"], ""],
    ["a completion", ["completion", "--typed"], "enqueue\n"],
    ["the checks of doctor", ["doctor"], ""],
  ])("gets no token from MINUTEHAND_TOKEN with %s, unless it is named", async (_, args, typed) => {
    await using api = await serveApi();
    await using folder = await mkdtempDisposable(join(tmpdir(), "minutehand-"));
    vi.stubGlobal("fetch", fetchingFrom(api.url));
    const env = { MINUTEHAND_TOKEN: "ey.secret", MINUTEHAND_TYPED: typed };
    await type(api, args, { env });
    record(folder.path, api);
    await type(api, args, { env, folder: folder.path });
    expect(api.authorizations.length).toBeGreaterThan(2);
    expect(new Set(api.authorizations)).toEqual(new Set([undefined]));

    await type(api, args, { env: { ...env, MINUTEHAND_URL: api.url } });
    expect(api.authorizations).toContain("Bearer ey.secret");
  });

  test("is MINUTEHAND_URL and not the local stack of the folder, which takes no token, if --token is given", async () => {
    await using api = await serveApi();
    await using local = await serveApi();
    await using folder = await mkdtempDisposable(join(tmpdir(), "minutehand-"));
    record(folder.path, local);
    const typed = { env: { MINUTEHAND_URL: api.url }, folder: folder.path };
    expect((await type(api, ["--token", "ey.secret", ...topics], typed)).code).toBe(0);
    expect([api.authorizations, local.authorizations]).toEqual([["Bearer ey.secret"], []]);
  });

  test("must be named if --token is given", async () => {
    const asked = vi.fn();
    vi.stubGlobal("fetch", asked);
    const { code, err } = await type(undefined, ["--token", "ey.secret", ...topics], { env: {} });
    expect({ code, err }).toEqual({
      code: 2,
      err: "minutehand: --token needs the name of the API that gets the token: give --url, --stack or MINUTEHAND_URL\n",
    });
    expect(asked).not.toHaveBeenCalled();
  });

  test.each([
    ["http://queue.example.com", "ey.secret"],
    ["http://10.0.0.7:8080", "ey.secret"],
    ["http://127.0.0.1.example.com", "ey.secret"],
    ["http://localhost.example.com", "ey.secret"],
    ["http://abc.execute-api.eu-central-1.amazonaws.com", undefined],
    ["http://queue.example.com", undefined],
  ])("must be an https: URL if a token or a signature goes there: %s %s", async (url, token) => {
    await using _ = await scriptAccount(stacks(output(url)));
    const env = { MINUTEHAND_TOKEN: token, AWS_REGION: "eu-central-1" };
    const rule = `must begin with https:, because calls carry a token or a signature, got "${url}"`;
    const asked = vi.fn();
    vi.stubGlobal("fetch", asked);
    for (const command of [topics, ["console", "--port", "0"]]) {
      const byFlag = await type(undefined, ["--url", url, ...command], { env });
      expect(byFlag).toMatchObject({ code: 2, err: `minutehand: --url ${rule}\n` });
      const inEnv = await type(undefined, command, { env: { ...env, MINUTEHAND_URL: url } });
      expect(inEnv).toMatchObject({ code: 2, err: `minutehand: MINUTEHAND_URL ${rule}\n` });
      const inStack = await type(undefined, ["--stack", "Shop", ...command], { env });
      expect(inStack).toMatchObject({ code: 2, err: expect.stringContaining(`ApiUrl9C1 ${rule}\n`) });
    }
    expect(asked).not.toHaveBeenCalled();
  });

  test("must be named if minutehand local does not answer", async () => {
    vi.stubGlobal("fetch", async () => {
      throw new TypeError("fetch failed");
    });
    const { code, err } = await type(undefined, topics, { env: {} });
    expect(code).toBe(2);
    expect(err).toBe(
      'minutehand: no local stack runs in this folder or above, and no API answers at http://127.0.0.1:4500: start one with "minutehand local", or name an API with --url, --stack or MINUTEHAND_URL\n',
    );
  });

  test("must not be named by both --url and --stack", async () => {
    const { code, err } = await type(undefined, ["--url", "http://a", "--stack", "Shop", ...topics]);
    expect({ code, err }).toEqual({
      code: 2,
      err: "minutehand: option '--url <url>' cannot be used with option '--stack <name>'\n",
    });
  });

  test("gets the bearer token, which is never printed", async () => {
    await using api = await serveApi();
    const token = "ey.secret.token";
    const said = await type(api, ["get", "01KJMBQDE001HA2ZQ31MBWX213", "--debug", "--token", token]);
    const env = { MINUTEHAND_URL: api.url, MINUTEHAND_TOKEN: token };
    await type(api, topics, { env });
    expect(api.authorizations).toEqual([`Bearer ${token}`, `Bearer ${token}`]);
    expect(said.code).toBe(1);
    expect(said.err + said.out).not.toContain(token);
  });

  test("gets no token that a header cannot have, and that token is not printed either", async () => {
    const env = { MINUTEHAND_URL: "https://host", MINUTEHAND_TOKEN: "ey.secret\n" };
    const { code, err } = await type(undefined, [...topics, "--debug"], { env });
    expect(code).toBe(2);
    expect(err).toMatch(
      /^minutehand: .*bearer must be a token of printable ASCII.*see --region and --token\n/,
    );
    expect(err).not.toContain("secret");
  });

  test("gets calls signed with the SDK's credentials if it is not on this machine", async () => {
    await using _ = await scriptAccount({});
    vi.stubEnv("AWS_ACCESS_KEY_ID", undefined);
    vi.stubEnv("AWS_EC2_METADATA_DISABLED", "true");
    vi.stubEnv("AWS_CONFIG_FILE", "/dev/null");
    vi.stubEnv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null");
    const url = "https://abc.execute-api.eu-west-1.amazonaws.com";
    const { code, err } = await type(undefined, [...topics, "--url", url]);
    expect(err).toMatch(
      /^minutehand: the request cannot be signed, because there are no AWS credentials: .*\n$/,
    );
    expect(code).toBe(1);
  });

  test("gets calls without a signature at each address of this machine", async () => {
    const asked = vi.fn(async () => Response.json({ topics: [] }));
    vi.stubGlobal("fetch", asked);
    expect((await type(undefined, [...topics, "--url", "http://127.0.0.2"], { env: {} })).code).toBe(0);
    const [[request]] = asked.mock.calls as unknown as [[Request]];
    expect(request.url).toBe("http://127.0.0.2/topics");
    expect(request.headers.has("authorization")).toBe(false);
  });

  test.each([
    ["https://queue.example.com", "eu-central-1"],
    ["https://abc.execute-api.us-west-2.amazonaws.com", "us-west-2"],
  ])("%s gets calls signed for the region of its host name, else of the profile: %s", async (url, region) => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "minutehand-"));
    writeFileSync(join(folder.path, "config"), "[default]\nregion = eu-central-1\n");
    await using _ = await scriptAccount({});
    vi.stubEnv("AWS_REGION", undefined);
    vi.stubEnv("AWS_CONFIG_FILE", join(folder.path, "config"));
    const asked = vi.fn(async () => Response.json({ topics: [] }));
    vi.stubGlobal("fetch", asked);
    expect((await type(undefined, [...topics, "--url", url], { env: {} })).code).toBe(0);
    const [[{ headers }]] = asked.mock.calls as unknown as [[Request]];
    expect(headers.get("authorization")).toContain(`/${region}/execute-api/`);
  });

  test("needs a region if its host name has none", async () => {
    for (const name of ["AWS_REGION", "AWS_DEFAULT_REGION"]) vi.stubEnv(name, undefined);
    vi.stubEnv("AWS_CONFIG_FILE", "/dev/null");
    const url = "https://queue.example.com";
    const { code, err } = await type(undefined, [...topics, "--url", url], { env: {} });
    expect(code).toBe(2);
    expect(err).toMatch(
      /^minutehand: region must be given .*queue.example.com.*; see --region and --token\n$/,
    );
  });

  test("is called with --region and --profile in the environment, where the SDK reads them", async () => {
    await using api = await serveApi();
    const env: Record<string, string | undefined> = { MINUTEHAND_URL: api.url };
    await type(api, [...topics, "--region", "eu-north-1", "--profile", "ops"], { env });
    expect(env).toMatchObject({ AWS_REGION: "eu-north-1", AWS_PROFILE: "ops" });
    const other: Record<string, string | undefined> = {
      MINUTEHAND_URL: api.url,
      AWS_DEFAULT_REGION: "ap-east-1",
    };
    await type(api, topics, { env: other });
    expect(other).toMatchObject({ AWS_REGION: "ap-east-1" });
  });
});
