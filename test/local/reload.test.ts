import { beforeEach, expect, test } from "vitest";
import { LocalError } from "../../local/local-error.ts";
import { compareStacks, createReloader } from "../../local/reload.ts";
import type { FunctionSpec, StackSpec } from "../../local/resources.ts";
import { functionSpec, stackWith } from "./stacks.ts";

const mail = functionSpec("Mail");
const running = stackWith({ functions: [mail, functionSpec("Refund")] });
const withCode = (codeHash: string, more: Partial<StackSpec> = {}) =>
  stackWith({ functions: [{ ...mail, codeHash }, functionSpec("Refund")], ...more });
const SAVED = "saved: synthesising …";
const queue = { name: "shop-letter", url: "", arn: "", attributes: {} };

let folder: string;
let next: () => Promise<StackSpec>;
let synths: number;
let replaced: FunctionSpec[];
let created: string[][];
let lines: string[];
let saved: () => Promise<void>;

beforeEach(() => {
  [folder, synths, replaced, created, lines] = ["first", 0, [], [], []];
  saved = createReloader(running, {
    hashApp: () => folder,
    runningHash: folder,
    synthesise: () => {
      synths += 1;
      return next();
    },
    createQueues: async (queues) => {
      if (queues.some(({ name }) => name === "refused")) throw new LocalError("queue refused: no");
      created.push([...queues.map(({ name }) => name), `before ${replaced.length} functions`]);
    },
    replaceFunctions: (specs) => replaced.push(...specs),
    log: (line) => lines.push(line),
  });
});

async function save(stack: () => Promise<StackSpec>, contents: string): Promise<void> {
  [folder, next] = [contents, stack];
  await saved();
}

test("a function whose code was saved is replaced and named; other functions are not", async () => {
  await save(async () => withCode("2"), "second");
  expect(replaced).toEqual([{ ...mail, codeHash: "2" }]);
  expect(lines).toEqual([SAVED, "reloaded Mail"]);
});

test("a save that changes no file synthesises nothing", async () => {
  await save(async () => withCode("2"), "first");
  expect(synths).toBe(0);
  expect(lines).toEqual([]);
});

test("a save that restores the first code is a change too", async () => {
  await save(async () => withCode("2"), "second");
  await save(async () => withCode(mail.codeHash), "first");
  expect(replaced.map(({ codeHash }) => codeHash)).toEqual(["2", mail.codeHash]);
});

test("a failing app is logged in one line, and the old functions run until the next save", async () => {
  await save(async () => {
    throw new LocalError("synthesising failed: SyntaxError: x");
  }, "broken");
  expect(lines).toEqual([SAVED, "synthesising failed: SyntaxError: x; the old functions stay in use"]);
  expect(replaced).toEqual([]);
  await save(async () => withCode("3"), "mended");
  expect(replaced).toHaveLength(1);
});

test("the same failure is logged once; then the log says that the app synthesises again", async () => {
  const broken = (why: string) => async (): Promise<StackSpec> => {
    throw new LocalError(why);
  };
  await save(broken("no x"), "broken");
  await save(broken("no x"), "broken, and the line that said so");
  await save(broken("no y"), "otherwise broken");
  await save(async () => running, "mended");
  await save(broken("no y"), "broken as before");
  expect(lines.filter((line) => line !== SAVED)).toEqual([
    "no x; the old functions stay in use",
    "no y; the old functions stay in use",
    "the app synthesises again",
    "no y; the old functions stay in use",
  ]);
});

test("saves during a synthesis cause one more synthesis, of the last save", async () => {
  const { promise, resolve } = Promise.withResolvers<StackSpec>();
  const first = save(() => promise, "second");
  await save(async () => withCode("3"), "third");
  await save(async () => withCode("4"), "fourth");
  expect(synths).toBe(1);
  resolve(withCode("2"));
  await first;
  expect(synths).toBe(2);
  expect(replaced.at(-1)?.codeHash).toBe("4");
});

test("files that an app writes during its synthesis cause only one more synthesis", async () => {
  await save(async () => {
    folder = "second, and what it wrote";
    return withCode("2");
  }, "second");
  expect(synths).toBe(2);
});

test("the log says that a synthesis begins, once for several syntheses in a row", async () => {
  await save(async () => {
    expect(lines).toEqual([SAVED]);
    if (synths < 3) folder += ", and what it wrote";
    return running;
  }, "second");
  expect(synths).toBe(3);
  expect(lines).toEqual([SAVED]);
});

test("the need for a restart is logged once, and again when the list of reasons grows", async () => {
  await save(async () => withCode("2", { queues: [queue] }), "second");
  await save(async () => withCode("3", { queues: [queue] }), "third");
  await save(async () => withCode("3", { queues: [queue], scheduleGroups: ["g"] }), "fourth");
  expect(lines.filter((line) => line.startsWith("restart"))).toEqual([
    "restart to apply queue shop-letter (new)",
    "restart to apply queue shop-letter (new), schedule group g (new)",
  ]);
});

test("new queues are created before functions are replaced", async () => {
  await save(async () => withCode("2", { queues: [queue] }), "second");
  expect(created).toEqual([["shop-letter", "before 0 functions"]]);
  expect(replaced).toHaveLength(1);
});

test("if a new queue is rejected, the old functions run on", async () => {
  await save(async () => withCode("2", { queues: [{ ...queue, name: "refused" }] }), "second");
  expect(replaced).toEqual([]);
  expect(lines).toEqual([SAVED, "queue refused: no; the old functions stay in use"]);
});

const mailQueue = { name: "shop-mail", url: "", arn: "", attributes: { VisibilityTimeout: "90" } };

test("the same stack in another folder is no change", () => {
  const after = stackWith({ functions: running.functions.map((spec) => ({ ...spec, codeDir: "/other" })) });
  expect(compareStacks(running, after)).toEqual({ functions: [], needRestart: [] });
});

test.each([
  ["code", { codeHash: "other" }],
  ["environment", { environment: { BANK: "1" } }],
  ["timeout", { timeoutMs: 1 }],
])("a changed %s changes only that function", (_, change) => {
  const changed = { ...mail, ...change };
  const after = stackWith({ functions: [changed, functionSpec("Refund")] });
  expect(compareStacks(running, after)).toEqual({ functions: [changed], needRestart: [] });
});

test("new, changed and gone resources need a restart, and are named", () => {
  const old = stackWith({ functions: [mail], queues: [mailQueue], scheduleGroups: ["promotions"] });
  const route = { key: "POST /x", functionArn: "", timeoutMs: 1 };
  const now = stackWith({
    functions: [mail, functionSpec("Refund")],
    queues: [{ ...mailQueue, attributes: { VisibilityTimeout: "60" } }],
    routes: [route],
  });
  expect(compareStacks(old, now).needRestart).toEqual([
    "function Refund (new)",
    "queue shop-mail (changed)",
    "schedule group promotions (gone)",
    "route POST /x (new)",
  ]);
  expect(compareStacks(now, old).needRestart).toContain("function Refund (gone)");
});
