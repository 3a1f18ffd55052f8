import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createAdviser, goneTopics } from "../../local/advice.ts";
import type { StackSpec } from "../../local/template/resources.ts";
import { functionSpec, stackWith } from "./stacks.ts";

let codeDir: string;
let waiting: number;
let lines: string[];
let advise: (stack: StackSpec) => Promise<string[]>;

beforeEach(() => {
  codeDir = mkdtempSync(join(tmpdir(), "minutehand-advice-"));
  [waiting, lines] = [0, []];
  advise = createAdviser({ countMessages: async () => waiting, log: (line) => lines.push(line) });
});
afterEach(() => rmSync(codeDir, { recursive: true }));

const queueOf = (topic: string) => ({
  name: `shop-${topic}`,
  url: "",
  arn: `arn:shop-${topic}`,
  attributes: {},
});
const environment = {
  MINUTEHAND_POLICY: JSON.stringify({ topics: { mail: {}, work: { consumer: "pull" } } }),
  MINUTEHAND_QUEUE_URL_PREFIX: "http://127.0.0.1/0/shop-",
};
const mail = () => ({ ...functionSpec("Mail"), codeDir, environment, bundle: { inputs: [], build: {} } });
const source = {
  ...{ uuid: "1", enabled: true, functionArn: functionSpec("Mail").arn, queueArn: "arn:shop-mail" },
  ...{ batchSize: 1, maximumConcurrency: undefined, reportsFailures: true },
};
const shop = (more: Partial<StackSpec> = {}) =>
  stackWith({ functions: [mail()], queues: [queueOf("mail"), queueOf("work")], ...more });
const bundle = (code: string) => writeFileSync(join(codeDir, "index.cjs"), code);

test("a warning of the synthesis is logged once, and again when it comes back", async () => {
  for (const warnings of [["no alarms"], ["no alarms"], [], ["no alarms"]])
    expect(await advise(shop({ warnings }))).toEqual(warnings);
  expect(lines).toEqual(["warning: no alarms", "warning: no alarms"]);
});

test("the first start without a topic says what becomes of its jobs", () => {
  const file = join(codeDir, "topics.json");
  const without = stackWith({ functions: [{ ...mail(), environment: {} }] });
  expect(goneTopics(shop(), file)).toEqual([]);
  expect(goneTopics(shop(), file)).toEqual([]);
  expect(goneTopics(without, file)).toEqual([
    expect.stringContaining(
      "the topic mail is not declared any more: its waiting jobs will be dead an hour after",
    ),
    expect.stringContaining("the topic work"),
  ]);
  expect(goneTopics(without, file)).toEqual([]);
});

test("nothing of the synthesis is said twice, or of alarms, of which none rings on this machine", async () => {
  const warnings = [
    'topic "work" is no longer declared: … [ack: minutehand:removed-topic:work]',
    "the alarms notify nobody: … [ack: minutehand:alarms]",
    "no key [ack: minutehand:table-key]",
  ];
  expect(await advise(shop({ warnings }))).toEqual(["no key"]);
  expect(lines).toEqual(["warning: no key"]);
});

test("due jobs of a topic without a consumer are reported; jobs of a pull topic are not", async () => {
  await advise(shop());
  expect(lines).toEqual([]);
  waiting = 1;
  await advise(shop());
  expect(lines).toEqual([
    'warning: jobs of topic "mail" are due and nobody runs them: the stack has no consumer for the topic',
  ]);
});

test("a topic with a consumer is not reported, whatever waits", async () => {
  bundle("export const handler=Object.assign(a,{jobHandler:b})");
  waiting = 1;
  await advise(shop({ eventSources: [source] }));
  expect(lines).toEqual([]);
});

test("a target that the stack does not have is reported, and a version or an alias of one that it has is not", async () => {
  bundle("jobHandler");
  const target = (arn: string) => ({
    ...mail(),
    environment: { ...environment, MINUTEHAND_TARGET: arn },
  });
  const here = functionSpec("Send");
  await advise(shop({ eventSources: [source], functions: [target(`${here.arn}:live`), here] }));
  expect(lines).toEqual([]);
  await advise(
    shop({ eventSources: [source], functions: [target("arn:aws:lambda:us-east-1:0:function:far")] }),
  );
  expect(lines).toEqual([
    'warning: the target of topic "mail" does not run here: its jobs fail, because the stack has no function arn:aws:lambda:us-east-1:0:function:far. Declare the function in the app, or name its code as "localHandler" of the target in minutehand.json',
  ]);
});

test("a webhook topic whose URL leads to another machine is reported once", async () => {
  const topics = {
    far: { webhook: { url: "https://shop.example/jobs" } },
    near: { webhook: { url: "http://127.0.0.1:3000/jobs" } },
    given: { webhook: {} },
    work: { consumer: "pull" },
  };
  const spec = (name: string) => ({
    ...functionSpec(name),
    environment: { ...environment, MINUTEHAND_POLICY: JSON.stringify({ topics }) },
  });
  await advise(shop({ functions: [spec("Tick"), spec("Api")] }));
  expect(lines).toEqual([
    'warning: jobs of topic "far" without a callbackUrl call https://shop.example/jobs, which is not on this machine',
  ]);
});

test("a handler that is not wrapped is reported once, though the synthesis warns of it too", async () => {
  bundle("export const handler=async()=>{}");
  const warnings = ["the handler of … [ack: minutehand:not-wrapped:mail]"];
  await advise(shop({ eventSources: [source], warnings }));
  expect(lines).toEqual([
    'warning: the handler of topic "mail" is not wrapped with consumer(…), so it gets SQS\'s event and runs no job',
  ]);
});
