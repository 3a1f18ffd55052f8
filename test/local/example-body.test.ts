import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { exampleBody, exampleJob } from "../../local/example-body.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "minutehand-"));
});
afterEach(() => rmSync(root, { recursive: true }));

function write(path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

test("the body is of the type that the topics' type declares", () => {
  write("app.ts", 'const topics = { "order-timeout": {}, refund: { maxAttempts: 3 } };');
  write(
    "jobs/topics.ts",
    'type Topics = {\n  "order-timeout": { orderId: string; amount: number };\n  refund: {\n    refundId: string;\n    isFull?: boolean;\n  };\n};',
  );
  expect(exampleBody(root, "order-timeout")).toEqual({ orderId: "17", amount: 17 });
  expect(exampleBody(root, "refund")).toEqual({ refundId: "17", isFull: true });
  expect(exampleBody(root, "timeout")).toBeUndefined();
});

test("the body is of the type that the topic's own handler declares", () => {
  write(
    "app.ts",
    'queue.addHandler("refund", "./jobs/refund.ts");\nqueue.addHandler("other", "jobs/other.ts");',
  );
  write("jobs/refund.ts", "export const handler = consumer<{ refundId: string }>(async () => {});");
  write("jobs/other.ts", "export const handler = consumer<Other>(async () => {});");
  expect(exampleBody(root, "refund")).toEqual({ refundId: "17" });
  expect(exampleBody(root, "other")).toBeUndefined();
});

test.each([
  ["a nested type", "refund: { bank: { id: string } };"],
  ["a type with a name", "refund: { at: Date };"],
  ["settings", 'refund: { consumer: "pull" };'],
])("%s gives no body, because a guess could be wrong", (_, text) => {
  write("topics.ts", `type Topics = { ${text} };`);
  expect(exampleBody(root, "refund")).toBeUndefined();
});

test("node_modules and declarations are not read", () => {
  write("node_modules/x/topics.ts", "type T = { refund: { id: string } };");
  write("topics.d.ts", "type T = { refund: { id: string } };");
  expect(exampleBody(root, "refund")).toBeUndefined();
});

test("the example is a job of the first topic whose bodies are known, and never of a webhook topic", () => {
  write("topics.ts", "type Topics = { refund: { refundId: string } };");
  const topics = { calls: { webhook: {} }, work: {}, refund: {} };
  expect(exampleJob(root, topics)).toEqual({ topic: "refund", delay: 5, body: { refundId: "17" } });
  expect(exampleJob(root, { calls: topics.calls })).toBeUndefined();
  expect(exampleJob(root, { work: {} })).toEqual({ topic: "work", delay: 5, body: { text: "hello" } });
});

test("the example of a pull topic is a job that the example workers can do", () => {
  const job = { topic: "thumbnail", delay: 5, body: { image: "cat.png", width: 120 } };
  expect(exampleJob(root, { thumbnail: { consumer: "pull" } })).toEqual(job);
  const worker = readFileSync(new URL("../../examples/python/worker.py", import.meta.url), "utf8");
  for (const field of Object.keys(job.body)) expect(worker).toMatch(new RegExp(`\\[["']${field}["']\\]`));
});
