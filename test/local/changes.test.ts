import { expect, test } from "vitest";
import { changesOf } from "../../local/changes.ts";
import { functionSpec, stackWith } from "./stacks.ts";

const mail = functionSpec("Mail");
const before = stackWith({ functions: [mail, functionSpec("Refund")] });
const queue = { name: "shop-mail", url: "", arn: "", attributes: { VisibilityTimeout: "90" } };

test("the same synthesised into another folder has changed nothing", () => {
  const after = stackWith({ functions: before.functions.map((spec) => ({ ...spec, codeDir: "/other" })) });
  expect(changesOf(before, after)).toEqual({ functions: [], others: [] });
});

test.each([
  ["code", { codeHash: "other" }],
  ["environment", { environment: { BANK: "1" } }],
  ["timeout", { timeoutMs: 1 }],
])("another %s is a change of that function alone", (_, change) => {
  const changed = { ...mail, ...change };
  const after = stackWith({ functions: [changed, functionSpec("Refund")] });
  expect(changesOf(before, after)).toEqual({ functions: [changed], others: [] });
});

test("what needs a restart is named: what is new, what has changed, what is gone", () => {
  const old = stackWith({ functions: [mail], queues: [queue], scheduleGroups: ["promotions"] });
  const route = { key: "POST /x", functionArn: "", timeoutMs: 1 };
  const now = stackWith({
    functions: [mail, functionSpec("Refund")],
    queues: [{ ...queue, attributes: { VisibilityTimeout: "60" } }],
    routes: [route],
  });
  expect(changesOf(old, now).others).toEqual([
    "function Refund (new)",
    "queue shop-mail (changed)",
    "schedule group promotions (gone)",
    "route POST /x (new)",
  ]);
  expect(changesOf(now, old).others).toContain("function Refund (gone)");
});
