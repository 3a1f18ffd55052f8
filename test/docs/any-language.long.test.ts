import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect } from "vitest";
import { serveApi } from "../cli/served-api.ts";
import { HANG_MS } from "../patience.ts";
import { createApi } from "../support/api.ts";
import { pythonTest } from "../support/python.ts";
import { createWorld } from "../support/world.ts";
import { blocksOf, ROOT, readPage } from "./blocks.ts";

const PAGE = "docs/guides/any-language.md";

/** What the page needs of packages that a machine may not have. */
const STAND_INS = {
  "requests.py": `
import json, urllib.request

class Answer:
    def __init__(self, response):
        self.status, self.text = response.status, response.read()

    def raise_for_status(self):
        assert 200 <= self.status < 300

    def json(self):
        return json.loads(self.text)

def send(method, url, body, timeout):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"content-type": "application/json"}, method=method)
    return Answer(urllib.request.urlopen(request, timeout=timeout))

def post(url, json, timeout):
    return send("POST", url, json, timeout)

def get(url, timeout):
    return send("GET", url, None, timeout)

def delete(url, timeout):
    return send("DELETE", url, None, timeout)
`,
  "flask.py": `
request = None

class Flask:
    def __init__(self, name):
        self.routes = {}

    def post(self, path):
        return lambda route: self.routes.setdefault(path, route)
`,
  "standardwebhooks.py": `
import json

class WebhookVerificationError(Exception):
    pass

class Webhook:
    def __init__(self, secret):
        self.secret = secret

    def verify(self, text, headers):
        if headers["webhook-signature"] != f"{self.secret} of {text}":
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

beforeAll(() => {
  const python = found.filter(({ kind }) => kind === "python");
  const programs = python.map(({ text }): [string, string] => [/^# (\S+\.py)\n/.exec(text)?.[1] ?? "", text]);
  const settings = found.findLast(({ text }) => text.includes('"localHandler"'))?.text ?? "";
  const files = { ...STAND_INS, ...Object.fromEntries(programs), "minutehand.json": settings };
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(join(folder, dirname(file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  }
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function python(program: string): Promise<string> {
  const env = { ...process.env, WEBHOOK_SECRET: "secret" };
  return (await promisify(execFile)("python3", ["-c", program], { cwd: folder, env, timeout: HANG_MS }))
    .stdout;
}

pythonTest("the page's Python files a job and cancels it by its key", async () => {
  await using api = await serveApi(createApi(createWorld({ topics: { thumbnail: { consumer: "pull" } } })));
  const text = found.find((block) => block.text.startsWith("# file_job.py"))?.text ?? "";
  const stdout = await python(text.replace("http://127.0.0.1:4500", api.url));
  const { json } = await api.call("GET", "/topics/thumbnail/jobs/dog.png");
  expect(json).toMatchObject({ state: "cancelled", body: { image: "dog.png", width: 120 } });
  expect(stdout).toBe(`${json.id} is due at ${json.dueAt}\ncancelled\n`);
});

pythonTest("the page's route does the work of a signed call, and refuses another", async () => {
  const calls = `
import app
class Call:
    def __init__(self, signature):
        self.headers = {"webhook-signature": signature}
    def get_data(self):
        return '{"orderId": "17"}'
for signature in ('secret of {"orderId": "17"}', "forged"):
    app.request = Call(signature)
    print(app.app.routes["/jobs"]())
`;
  expect(await python(calls)).toBe("close order 17\n('', 204)\n('', 401)\n");
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
  "the page's pytest starts a stack with the page's topics, moves its clock, and ends it",
  async () => {
    const text = found.find((block) => block.text.startsWith("# test_receipt.py"))?.text ?? "";
    const source = join(ROOT, "src/cli/main.ts");
    const command = [process.execPath, source, "local", "--app", `node ${source} template`];
    const program = text.replace(
      '"node_modules/.bin/minutehand", "local"',
      JSON.stringify(command).slice(1, -1),
    );
    const [test, ...others] = [...program.matchAll(/^def (test_\w+)\(url\)/gm)].map(([, name]) => name);
    expect({ test, others }).toEqual({ test: expect.any(String), others: [] });
    const play = `started = url()\naddress = next(started)\n${test}(address)\nnext(started, None)\nprint(address)`;
    expect(await python(`${program}\n${play}`)).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/m);
  },
);
