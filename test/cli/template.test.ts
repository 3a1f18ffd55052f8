import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type } from "./command-line.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "minutehand-template-"));
  write("minutehand.json", JSON.stringify(CONFIG));
});
afterEach(() => rmSync(folder, { recursive: true }));

const CONFIG = { topics: { work: { consumer: "pull" } }, alarmTopic: { parameter: "AlarmTopicArn" } };
const WITH_WEBHOOK = { ...CONFIG, topics: { ...CONFIG.topics, calls: { webhook: {} } } };

const template = (...args: string[]) => type(undefined, ["template", ...args], { folder, env: {} });
const out = (...args: string[]) => template("--out", "deploy", ...args);
const files = (): string[] => readdirSync(join(folder, "deploy"), { recursive: true, encoding: "utf8" });
const read = (path: string): string => readFileSync(join(folder, path), "utf8");
function write(path: string, text: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
}

test("writes the template and the functions, and says how to deploy them", async () => {
  const { code, out: said, err } = await out();
  expect({ code, err }).toEqual({ code: 0, err: "" });
  expect(readdirSync(join(folder, "deploy")).sort()).toEqual(["functions", "template.json", "written.json"]);
  expect(said).toContain(
    "aws cloudformation package --template-file deploy/template.json --s3-bucket BUCKET --use-json --output-template-file packaged.json\n",
  );
  expect(said).toContain("aws cloudformation deploy --template-file packaged.json --s3-bucket BUCKET");
  expect(said).toContain("--capabilities CAPABILITY_IAM --parameter-overrides AlarmTopicArn=…\n");
  // Lambda's user is another one.
  for (const file of files().filter((path) => path.includes(".")))
    expect(statSync(join(folder, "deploy", file)).mode & 0o777).toBe(0o644);
});

test("with --json it says the same as data, and warns on stderr", async () => {
  write("minutehand.json", JSON.stringify({ topics: CONFIG.topics }));
  const { lines, err } = await out("--json");
  expect(lines).toEqual([
    {
      wrote: files().filter((path) => path.includes(".")).length - 1,
      deleted: 0,
      parameters: [],
      topics: { added: [], removed: [] },
      next: [expect.any(String), expect.any(String)],
    },
  ]);
  expect(err).toBe("warning: the alarms notify nobody: give an SNS topic as alarmTopic\n");
});

test("warns of a webhook whose receiver is on this machine", async () => {
  const webhook = { url: "http://127.0.0.1:8000/jobs", allowHttp: true, allowHosts: ["127.0.0.1"] };
  const topics = { a: { webhook }, b: { webhook: { url: "https://shop.example/jobs" } }, c: { webhook: {} } };
  write("minutehand.json", JSON.stringify({ ...CONFIG, topics }));
  const { err } = await out();
  expect(err).toBe("warning: topic a calls 127.0.0.1, where no receiver is on AWS\n");
});

test("writes into a folder with files only with --force, and then replaces and deletes what it has written", async () => {
  write("minutehand.json", JSON.stringify(WITH_WEBHOOK));
  await out();
  expect(existsSync(join(folder, "deploy/functions/webhook"))).toBe(true);
  write("minutehand.json", JSON.stringify(CONFIG));
  write("deploy/packaged.json", "mine");
  const before = files();
  expect(await out()).toMatchObject({
    code: 1,
    err: "minutehand: deploy is not empty: choose another --out, or give --force to replace what an earlier run has written there\n",
  });
  expect(files()).toEqual(before);
  expect((await out("--force")).code).toBe(0);
  expect(existsSync(join(folder, "deploy/functions/webhook/index.mjs"))).toBe(false);
  expect(read("deploy/template.json")).not.toContain("functions/webhook");
  expect(read("deploy/packaged.json")).toBe("mine");
});

test("--force says which topics were added and removed, and counts one file as one", async () => {
  await out();
  write("minutehand.json", JSON.stringify({ ...CONFIG, topics: { work2: CONFIG.topics.work } }));
  const { out: said } = await out("--force");
  expect(said).toContain(
    "wrote 1 file into deploy\nadded the topic work2\nremoved the topic work: its waiting jobs will be dead an hour after they are due, and its queues stay",
  );
  const { lines } = await out("--force", "--json");
  expect(lines).toMatchObject([{ wrote: 0, topics: { added: [], removed: [] } }]);
});

test.each([
  ["a file in the way", "deploy/template.json"],
  ["a file of a function in the way", "deploy/functions/api/index.mjs"],
])("--force does not overwrite %s that it has not written", async (_, path) => {
  write(path, "mine");
  const { code, err } = await out("--force");
  expect(code).toBe(1);
  expect(err).toContain(
    `files that "minutehand template" has not written so: ${path.replace("deploy/", "")}. `,
  );
  expect(files().filter((one) => one.includes("."))).toHaveLength(1);
  expect(read(path)).toBe("mine");
});

test("--force neither overwrites nor deletes a file that was changed since it was written", async () => {
  write("minutehand.json", JSON.stringify(WITH_WEBHOOK));
  await out();
  write("minutehand.json", JSON.stringify(CONFIG));
  write("deploy/functions/webhook/index.mjs", "mine");
  const { code, err } = await out("--force");
  expect({ code, err }).toMatchObject({
    code: 1,
    err: expect.stringContaining("functions/webhook/index.mjs"),
  });
  expect(read("deploy/template.json")).toContain("functions/webhook");
});

test.each([
  ["that names files elsewhere", JSON.stringify({ "../minutehand.json": "x" })],
  ["that a crash has cut off", ""],
  ["that is no list", "null"],
])("a list %s deletes no file", async (_, list) => {
  await out();
  write("deploy/written.json", list);
  expect(await out("--force")).toMatchObject({ code: 1, err: expect.stringContaining("is not the list") });
  expect(existsSync(join(folder, "minutehand.json"))).toBe(true);
});

test.each([
  ["{", "minutehand.json must be JSON: "],
  ["[]", "minutehand.json is invalid: it must be a JSON object with topics\n"],
  ['{"topics": {}}', "minutehand: minutehand.json is invalid: topics must name at least one topic"],
  [
    '{"topics": {"receipt": {}}, "targets": {"receipt": {"arn": "arn:x", "timeout": "1m"}}}',
    'targets.receipt.arn must be the ARN of a Lambda function, is "arn:x"; allowed: such as arn:aws:lambda:',
  ],
  [
    '{"topics": {"receipt": {}}, "targets": {"receipt": {"arn": "arn:aws:lambda:us-east-1:123456789012:function:f", "timeout": "1x"}}}',
    "minutehand: targets.receipt: the timeout of the target",
  ],
  [
    '{"topics": {"receipt": {}}, "targets": {"receipt": {"arn": "arn:x", "timeout": "1m", "localHandler": "f.handler"}}}',
    'targets.receipt.arn must be the ARN of a Lambda function, is "arn:x"',
  ],
  [
    '{"topics": {"a": {}, "a": {}}}',
    "minutehand.json is invalid: topics.a: an object must have each name at most once",
  ],
  [
    '{"topics": {"a": {"consumer": "webhook"}}}',
    'allowed: lambda or pull; for webhooks: "webhook": { "url": … }\n',
  ],
  [
    '{"topics": {"a": {}}, "handlers": {"a": "functions/ok.py"}}',
    "Code in Python is an entry of targets, with localHandler\n",
  ],
  [
    '{"topics": {"a": {}}, "schedules": {"n": {"topic": "a", "expression": "0 2 * * *", "timezone": "Berlin", "body": 1}}}',
    'schedules.n.timezone must be an IANA name such as Europe/Berlin or UTC, is "Berlin"; allowed: a name of the time zone database; did you mean Europe/Berlin?\n',
  ],
  [
    '{"topics": {"a": {}}, "targets": {"a": {"arn": {"parameter": "A"}, "localHandler": "f.handler"}}}',
    'minutehand.json is invalid: targets.a.timeout must be given, is undefined; allowed: a duration such as "1m"',
  ],
  ['{"topics": {"a": {}}, "handlers": {"b": "b.ts"}}', 'minutehand: handlers.b: topic "b"'],
  ['{"topics": {"a": {}}, "removable": "no"}', 'removable must be true or false, is "no"'],
  [
    '{"topics": {"a": {"webhook": "http://127.0.0.1:8123/x"}}}',
    'topics.a.webhook must be an object, is "http://127.0.0.1:8123/x"; allowed: such as {"url": "https://example.com/hook"}',
  ],
  ['{"topics": {"a": {}}, "targets": null}', "targets must be an object, is null"],
  ['{"topics": {"a": {}}, "maxThroughput": 5}', "maxThroughput must be an object, is 5"],
  ['{"topics": {"a": {}}, "alarmTopic": null}', "alarmTopic must be text, or name a parameter"],
  ['{"topics": {"a": {}}, "stackName": true}', "stackName must be the name of a stack, is true"],
  ['{"topics": {"a": {}}, "tracing": 5}', "tracing must be true or false, is 5"],
  [
    '{"topics": {"a": {}}, "alarmTopic": "on-call"}',
    'alarmTopic must be the ARN of an SNS topic, is "on-call"',
  ],
  ['{"topics": {"a": {}}, "encryptionKey": "alias/jobs"}', "encryptionKey must be the ARN of a KMS key, is"],
])("the file %s is refused in one line, and nothing is written", async (text, refusal) => {
  write("minutehand.json", text);
  const { code, err } = await out();
  expect({ code, lines: err.split("\n").length }).toEqual({ code: 1, lines: 2 });
  expect(err).toContain(refusal);
  expect(existsSync(join(folder, "deploy"))).toBe(false);
});

test("each of several faults of the file gets a line", async () => {
  for (const [config, rules] of [
    [{ topics: { a: { ttr: 5, pack: 0 } } }, ["topics.a.ttr is allowed", "topics.a.pack must be"]],
    [{ topics: { a: {} }, tracing: 5, dashboard: 5 }, ["tracing must be", "dashboard must be"]],
  ] as const) {
    write("minutehand.json", JSON.stringify(config));
    const { code, err } = await out();
    expect({ code, lines: err.split("\n") }).toEqual({
      code: 1,
      lines: [
        "minutehand: minutehand.json is invalid:",
        ...rules.map((rule) => expect.stringMatching(new RegExp(`^  ${rule}`))),
        "",
      ],
    });
  }
});

test("a byte order mark before the file is left out", async () => {
  write("minutehand.json", `\uFEFF${JSON.stringify(CONFIG)}`);
  expect(await out()).toMatchObject({ code: 0, err: "" });
});

test("a missing file and a missing folder are named", async () => {
  expect(await out("--config", "other.json")).toMatchObject({
    code: 1,
    err: 'minutehand: there is no file other.json: write one, such as { "topics": { "work": { "consumer": "pull" } } }. See "minutehand template --help"\n',
  });
  expect(await template()).toMatchObject({
    code: 2,
    err: "minutehand: template needs --out, the folder for the template\n",
  });
});

const MUST_NAME =
  "targets.work.localHandler must name a file and its function, such as functions/send.handler";

test.each([
  ...["functions/send", "send.py", ".handler", ""].map((handler) => [handler, MUST_NAME]),
  [
    "functions/send.handler",
    'targets.work.localHandler is "functions/send.handler", and there is no functions/send.py (or .mjs, .cjs, .js)\n',
  ],
])(
  "as the app of `minutehand local` it refuses code that is not there: %s",
  async (localHandler, message) => {
    const targets = { work: { arn: "x", timeout: "1m", localHandler } };
    write("minutehand.json", JSON.stringify({ topics: { work: {} }, targets }));
    const env = { CDK_OUTDIR: join(folder, "assembly") };
    const { code, err } = await type(undefined, ["template"], { folder, env });
    expect({ code, err }).toEqual({
      code: 1,
      err: expect.stringContaining(message),
    });
  },
);

test("as the app of `minutehand local` it refuses a localHandler that names only a file, and says its function", async () => {
  write("functions/ok.py", "def handler(event, context): pass");
  const targets = { work: { arn: "x", timeout: "1m", localHandler: "functions/ok.py" } };
  write("minutehand.json", JSON.stringify({ topics: { work: {} }, targets }));
  const { err } = await type(undefined, ["template"], {
    folder,
    env: { CDK_OUTDIR: join(folder, "assembly") },
  });
  expect(err).toBe(
    'minutehand: targets.work.localHandler must name a file and its function, such as functions/ok.handler, is "functions/ok.py"\n',
  );
});

test("as the app of `minutehand local` it writes an assembly, and prints nothing", async () => {
  const targets = { thumbnail: { arn: { parameter: "ThumbnailArn" }, timeout: "1m" } };
  const others = { eventBus: { parameter: "Bus" }, table: "jobs", stackName: "Shop" };
  write("minutehand.json", JSON.stringify({ ...CONFIG, ...others, topics: { thumbnail: {} }, targets }));
  const env = { CDK_OUTDIR: join(folder, "assembly") };
  const ended = await type(undefined, ["template"], { folder, env });
  expect(ended).toMatchObject({ code: 0, out: "", err: "" });
  const stack = JSON.parse(read("assembly/Minutehand.template.json"));
  // The runner knows no values of parameters, and makes its own table.
  expect(stack.Parameters).toBeUndefined();
  expect(JSON.stringify(stack)).toContain("arn:aws:lambda:us-east-1:000000000000:function:ThumbnailArn");
  expect(JSON.stringify(stack)).toContain("AWS::DynamoDB::Table");
  expect(JSON.parse(read("assembly/manifest.json")).artifacts.Minutehand.type).toBe(
    "aws:cloudformation:stack",
  );
  // Another name would hide the jobs of the data folder.
  expect(read("assembly/manifest.json")).not.toContain("Shop");
});
