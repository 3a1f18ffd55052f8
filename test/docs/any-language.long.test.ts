import { execFile } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect } from "vitest";
import { serveApi } from "../cli/served-api.ts";
import { HANG_MS } from "../patience.ts";
import { type Api, createApi } from "../support/api.ts";
import { expectSigned, serveGateway } from "../support/gateway.ts";
import { botocoreTest, pythonTest } from "../support/python.ts";
import { serveInTrouble } from "../support/troubled-api.ts";
import { createWorld, MINUTE } from "../support/world.ts";
import { blocksOf, ROOT, readPage } from "./blocks.ts";

const PAGE = "docs/guides/any-language.md";

/** What the page needs of packages that a machine may not have. */
const STAND_INS = {
  "requests.py": `
import json, urllib.error, urllib.parse, urllib.request

class Answer:
    def __init__(self, response):
        self.status_code, self.text = response.status, response.read()

    def raise_for_status(self):
        assert 200 <= self.status_code < 300, self.status_code

    def json(self):
        return json.loads(self.text)

class Call:
    pass

def send(method, url, body, auth=lambda call: call, headers={}):
    call = Call()
    call.method, call.url, call.headers = method, url, {"content-type": "application/json", **headers}
    call.body = None if body is None else json.dumps(body).encode()
    call = auth(call)
    request = urllib.request.Request(call.url, call.body, call.headers, method=method)
    try:
        return Answer(urllib.request.urlopen(request, timeout=600))
    except urllib.error.HTTPError as error:
        return Answer(error)

def post(url, json, timeout, **auth):
    return send("POST", url, json, **auth)

def get(url, timeout, **auth):
    return send("GET", url, None, **auth)

def delete(url, timeout, params=None, **auth):
    query = "?" + urllib.parse.urlencode(params) if params else ""
    return send("DELETE", url + query, None, **auth)
`,
  // A route in it reads `flask.request`, which `werkzeug` sets.
  "flask.py": `
class Request:
    pass

request = Request()

class Flask:
    def __init__(self, name):
        self.routes = {}

    def post(self, path):
        return lambda route: self.routes.setdefault(path, route)
`,
  "fastapi.py": `
class Request:
    pass

class Response:
    def __init__(self, status_code):
        self.status_code = status_code

class FastAPI:
    def __init__(self):
        self.routes = {}

    def post(self, path):
        return lambda route: self.routes.setdefault(path, route)
`,
  "werkzeug/__init__.py": "",
  "werkzeug/serving.py": `
import http.server, json, flask

def make_server(host, port, app):
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            text = self.rfile.read(int(self.headers["content-length"]))
            flask.request.headers = {name.lower(): value for name, value in self.headers.items()}
            flask.request.get_data = lambda: text
            flask.request.get_json = lambda: json.loads(text)
            self.send_response(app.routes[self.path]()[1])
            self.end_headers()
    return http.server.ThreadingHTTPServer((host, port), Handler)
`,
  "standardwebhooks.py": `
import base64, hmac, json

class WebhookVerificationError(Exception):
    pass

class Webhook:
    def __init__(self, secret):
        self.key = base64.b64decode(secret.removeprefix("whsec_"))

    def sign(self, headers, text):
        signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + text
        return "v1," + base64.b64encode(hmac.digest(self.key, signed, "sha256")).decode()

    def verify(self, text, headers):
        if headers["webhook-signature"] != self.sign(headers, text):
            raise WebhookVerificationError
        return json.loads(text)
`,
  "pytest.py": `
def fixture(**_):
    return lambda function: function
`,
};

const folder = mkdtempSync(join(tmpdir(), "minutehand-any-language-"));
const found = blocksOf(PAGE, readPage(PAGE));
/** Its program in Python signs the calls of `requests` and `httpx`. */
const SIGN = "docs/guides/sign.md";

beforeAll(() => {
  const python = [...found, ...blocksOf(SIGN, readPage(SIGN))].filter(({ kind }) => kind === "python");
  const programs = python.map(({ text }): [string, string] => [/^# (\S+\.py)\n/.exec(text)?.[1] ?? "", text]);
  const settings = found.findLast(({ text }) => text.includes('"localHandler"'))?.text ?? "";
  const files = { ...STAND_INS, ...Object.fromEntries(programs), "minutehand.json": settings };
  for (const file of ["api.py", "worker.py"])
    copyFileSync(join(ROOT, "examples/python", file), join(folder, file));
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(join(folder, dirname(file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  }
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function python(program: string, more: object = {}): Promise<string> {
  const env = { ...process.env, WEBHOOK_SECRET: "whsec_c2VjcmV0", ...more };
  return (await promisify(execFile)("python3", ["-c", program], { cwd: folder, env, timeout: HANG_MS }))
    .stdout;
}

const FILE_JOB = found.find((block) => block.text.startsWith("# file_job.py"))?.text ?? "";
const apiOf = () => createApi(createWorld({ topics: { thumbnail: { consumer: "pull" } } }));

botocoreTest("the page's Python files a job and cancels it by its key", async () => {
  await using api = await serveApi(apiOf());
  const stdout = await python(FILE_JOB, { MINUTEHAND_URL: `${api.url}/` });
  const { json } = await api.call("GET", "/topics/thumbnail/jobs/dog.png");
  expect(json).toMatchObject({ state: "cancelled", body: { image: "dog.png", width: 120 } });
  expect(stdout).toBe(`${json.id} is due at ${json.dueAt}\ncancelled\n`);
  expect(api.authorizations).toEqual([undefined, undefined]);
});

/** What becomes of the job between the page's two calls, and what the page's Python prints of it. */
const TOO_LATE: [code: string, finish: (api: Api) => Promise<unknown>][] = [
  ["job-running", async ({ receive }) => receive("thumbnail")],
  [
    "job-finished",
    async ({ call, receive }) => {
      const { receipt } = await receive("thumbnail");
      return call("POST", "/topics/thumbnail/finish", { body: { receipt } });
    },
  ],
];

for (const [code, run] of TOO_LATE)
  botocoreTest(`the page's Python says ${code} if its cancel comes too late`, async () => {
    const api = apiOf();
    const due = async () => {
      await api.world.pass(31 * MINUTE);
      await run(api);
    };
    await using served = await serveInTrouble([undefined, due], api);
    expect(await python(FILE_JOB, { MINUTEHAND_URL: served.url })).toMatch(new RegExp(`\n${code}\n$`));
  });

botocoreTest(
  "the page's Python says that there is no job to cancel, goes on after a short outage, and gives up in a longer one",
  async () => {
    const refused = (status: number, code: string) => ({
      status,
      body: JSON.stringify({ code, detail: "" }),
    });
    await using none = await serveInTrouble([undefined, refused(404, "job-not-found")], apiOf());
    expect(await python(FILE_JOB, { MINUTEHAND_URL: none.url })).toMatch(/\njob-not-found\n$/);
    const away = refused(503, "unavailable");
    await using passing = await serveInTrouble([away, "cut after", undefined, away], apiOf());
    expect(await python(FILE_JOB, { MINUTEHAND_URL: passing.url })).toMatch(/\ncancelled\n$/);
    await using lasting = await serveInTrouble([undefined, away, away, away], apiOf());
    await expect(python(FILE_JOB, { MINUTEHAND_URL: lasting.url })).rejects.toThrow(/Refused: 503/);
  },
);

botocoreTest("the page's Python signs on AWS", async () => {
  await using gateway = await serveGateway(apiOf());
  const printed = await python(FILE_JOB, { ...gateway.env, MINUTEHAND_URL: gateway.url });
  expect(printed).toMatch(/\ncancelled\n$/);
  expect(gateway.received.map(({ method }) => method)).toEqual(["POST", "DELETE"]);
  for (const call of gateway.received) expectSigned(call);
});

botocoreTest("the page's Python signs a space in the query, which requests writes as +", async () => {
  const api = apiOf();
  const { id } = await api.file({ topic: "thumbnail", delay: "30m" });
  await using gateway = await serveGateway(api);
  const program = `
import os, requests
from signed import signed
params = {"reason": "paid by phone + mail"}
print(requests.delete(os.environ["URL"], params=params, auth=signed, timeout=30).json()["state"])
`;
  const url = `${gateway.url}/jobs/${id}`;
  expect(await python(program, { ...gateway.env, URL: url })).toBe("cancelled\n");
  expect(gateway.received).toMatchObject([{ path: `${url}?reason=paid%20by%20phone%20%2B%20mail` }]);
  for (const call of gateway.received) expectSigned(call);
});

botocoreTest("the page's Python signs a call of httpx as one of requests", async () => {
  // Both calls are signed at one time: a signature contains its second.
  const program = `
import botocore.auth
from signed import signed
now = botocore.auth.get_current_datetime()
botocore.auth.get_current_datetime = lambda: now
class Url:
    def __init__(self, text):
        self.text = text
    def __str__(self):
        return self.text
url = "https://a1b2c3.execute-api.eu-central-1.amazonaws.com/jobs?reason=paid+by+phone"
class OfRequests:
    method, url, headers, body = "POST", url, {}, b"{}"
class OfHttpx:
    method, url, headers, content = "POST", Url(url), {}, b"{}"
calls = [signed(OfRequests), signed(OfHttpx)]
for call in calls:
    print(call.url)
print(len({call.headers["Authorization"].split("Signature=")[1] for call in calls}))
`;
  const key = { AWS_ACCESS_KEY_ID: "AKIDEXAMPLE", AWS_SECRET_ACCESS_KEY: "secret" };
  const [one, other, signatures] = (await python(program, key)).split("\n");
  expect(one).toMatch(/\/jobs\?reason=paid%20by%20phone$/);
  expect([other, signatures]).toEqual([one, "1"]);
});

const POSTPONE = `
from datetime import timedelta
from postpone_job import postpone
print(postpone("thumbnail", "dog.png", timedelta(hours=1))["dueAt"])
`;

botocoreTest(
  "the page's Python moves a job by key from the time that it has, also if somebody else moves it in between",
  async () => {
    const api = apiOf();
    const job = { topic: "thumbnail", key: "dog.png", dueAt: "2026-03-01T12:00:00Z" };
    const { id } = await api.file(job);
    const moved = () => api.call("PATCH", `/jobs/${id}`, { body: { dueAt: "2026-03-01T14:00:00Z" } });
    await using served = await serveInTrouble([undefined, moved, undefined, "cut after"], api);
    expect(await python(POSTPONE, { MINUTEHAND_URL: served.url })).toBe("2026-03-01T15:00:00.000Z\n");
    expect(served.received.map(({ method }) => method)).toEqual(["GET", "PATCH", "GET", "PATCH", "PATCH"]);
  },
);

botocoreTest("the page's Python does not move a job that has ended", async () => {
  const api = apiOf();
  await api.file({ topic: "thumbnail", key: "dog.png", delay: "30m" });
  const cancelled = () => api.call("DELETE", "/topics/thumbnail/jobs/dog.png");
  await using served = await serveInTrouble([undefined, cancelled], api);
  await expect(python(POSTPONE, { MINUTEHAND_URL: served.url })).rejects.toThrow(/Refused: 409/);
});

botocoreTest("the page's Python signs for AWS_REGION at a domain name of one's own", async () => {
  const program = `
from signed import signed
class Call:
    method, url, headers, body = "GET", "https://jobs.shop.example/health", {}, None
print(signed(Call).headers["Authorization"])
`;
  const key = { AWS_ACCESS_KEY_ID: "AKIDEXAMPLE", AWS_SECRET_ACCESS_KEY: "secret" };
  const printed = await python(program, { ...key, AWS_REGION: "eu-west-1" });
  expect(printed).toMatch(/^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/\d+\/eu-west-1\/execute-api\//);
});

pythonTest("the page's route does the work of a signed call, and refuses another", async () => {
  const calls = `
import app, flask
text = b'{"orderId": "17"}'
headers = {"webhook-id": "1", "webhook-timestamp": "2"}
flask.request.get_data = lambda: text
for signature in (app.webhook.sign(headers, text), "v1,forged"):
    flask.request.headers = {**headers, "webhook-signature": signature}
    print(app.app.routes["/jobs"]())
`;
  expect(await python(calls)).toBe("close order 17\n('', 204)\n('', 401)\n");
});

pythonTest("the page's route of FastAPI does the same", async () => {
  const calls = `
import asyncio, fastapi_app, fastapi
text = b'{"orderId": "17"}'
headers = {"webhook-id": "1", "webhook-timestamp": "2"}
request = fastapi.Request()
async def body():
    return text
request.body = body
for signature in (fastapi_app.webhook.sign(headers, text), "v1,forged"):
    request.headers = {**headers, "webhook-signature": signature}
    print(asyncio.run(fastapi_app.app.routes["/jobs"](request)).status_code)
`;
  expect(await python(calls)).toBe("close order 17\n204\n401\n");
});

pythonTest("the page's function asks for a retry until the order is paid", async () => {
  const runs = `
from functions.send import handler
for paid in (False, True):
    print(handler({"body": {"orderId": "17", "paid": paid}, "attempt": 1}, None))
`;
  expect(await python(runs)).toBe("{'retryIn': '10m'}\nreceipt of order 17, attempt 1\nNone\n");
});

pythonTest(
  "the page's pytest starts a stack and the page's routes, moves the clock, and ends both",
  async () => {
    const text = found.find((block) => block.text.startsWith("# test_jobs.py"))?.text ?? "";
    const bin = join(folder, "node_modules/.bin");
    mkdirSync(bin, { recursive: true });
    const command = `#!/bin/sh\nexec ${process.execPath} ${join(ROOT, "src/cli/main.ts")} "$@"\n`;
    writeFileSync(join(bin, "minutehand"), command, { mode: 0o755 });
    const tests = [...text.matchAll(/^def (test_\w+\(.*\)):$/gm)].map(([, call]) => call);
    expect(tests).toHaveLength(3);
    const play = `
started = globals()["url"]()
url = next(started)
served = globals()["routes"](url)
routes = next(served)
${tests.join("\n")}
next(served, None)
next(started, None)
print(url)`;
    const printed = await python(`${text}\n${play}`);
    expect(printed).toMatch(/^close order 1$/m);
    expect(printed).toMatch(/^cat\.png at 120 px, attempt 1$/m);
    expect(printed).not.toContain("close order 2");
    expect(printed).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/m);
  },
);
