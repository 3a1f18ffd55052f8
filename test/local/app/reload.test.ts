import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createInputs } from "../../../local/app/inputs.ts";
import type { Rebuilt } from "../../../local/app/rebuild.ts";
import { createReloader } from "../../../local/app/reload.ts";
import { OWN_PROGRAM } from "../../../local/app/sources.ts";
import { compareStacks } from "../../../local/app/stack-changes.ts";
import { LocalError } from "../../../local/local-error.ts";
import type { FunctionSpec, StackSpec } from "../../../local/template/resources.ts";
import { functionSpec, stackWith } from "../stacks.ts";

const mail = { ...functionSpec("Mail"), bundle: { inputs: [], build: undefined } };
const refund = { ...functionSpec("Refund"), bundle: { inputs: [], build: undefined } };
const running = stackWith({ functions: [mail, refund] });
const withCode = (codeHash: string, more: Partial<StackSpec> = {}) =>
  stackWith({ functions: [{ ...mail, codeHash }, refund], ...more });
const SAVED = "saved app.ts: synthesising …";
const SAME = "synthesised in 0.0 s: no function has changed";
const queue = { name: "shop-letter", url: "", arn: "", attributes: {} };

let root: string;
let next: () => Promise<StackSpec>;
let synths: number;
let told: string[][];
let replaced: FunctionSpec[];
let created: string[][];
let lines: string[];
let saved: () => Promise<void>;
let isUsed: (path: string) => boolean;
let inputs: string[];
let now: number;

beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "minutehand-reload-")));
  write("app.ts", "first");
  [synths, told, replaced, created, lines] = [0, [], [], [], []];
  inputs = [join(root, "app.ts")];
  // Later than any save, so no file counts as saved during a build.
  now = Date.now() + 60_000;
  ({ reloadAfterSave: saved, isUsed } = reloaderOf(running));
});
afterEach(() => rmSync(root, { recursive: true }));

/** `bundles`: what the bundle of a handler is, or why there is none. */
function reloaderOf(stack: StackSpec, bundles: (spec: FunctionSpec) => Rebuilt = (spec) => ({ spec })) {
  return createReloader(
    { stack, inputs, began: now },
    {
      inputs: createInputs(),
      root,
      synthesise: async (saved) => {
        synths += 1;
        told.push([...saved]);
        return next();
      },
      appInputs: () => inputs,
      rebuild: async (spec) => bundles(spec),
      createQueues: async (queues) => {
        if (queues.some(({ name }) => name === "refused")) throw new LocalError("queue refused: no");
        created.push([...queues.map(({ name }) => name), `before ${replaced.length} functions`]);
      },
      replaceFunctions: (specs) => replaced.push(...specs),
      log: (line) => lines.push(line),
      clock: () => now,
    },
  );
}

function write(file: string, contents: string): string {
  const path = join(root, file);
  writeFileSync(path, contents);
  return path;
}

async function save(stack: () => Promise<StackSpec>, contents: string, file = "app.ts"): Promise<void> {
  next = stack;
  write(file, contents);
  await saved();
}

test("a function whose code was saved is replaced and named; other functions are not", async () => {
  await save(async () => withCode("2"), "second");
  expect(replaced).toEqual([{ ...mail, codeHash: "2" }]);
  expect(lines).toEqual([SAVED, "synthesised in 0.0 s: reloaded Mail"]);
});

test("a save of code that the file of `minutehand template` does not name synthesises nothing", async () => {
  inputs = [write("minutehand.json", "{}"), OWN_PROGRAM];
  ({ reloadAfterSave: saved, isUsed } = reloaderOf(running));
  await save(async () => running, "import json", "worker.py");
  expect(synths).toBe(0);
  await save(async () => running, '{"topics":{}}', "minutehand.json");
  expect(synths).toBe(1);
});

test("a save that changes no file synthesises nothing, and says so once", async () => {
  await save(async () => withCode("2"), "first");
  await save(async () => withCode("2"), "first");
  expect(synths).toBe(0);
  expect(lines).toEqual(["saved app.ts: nothing has changed"]);
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

test("of a failure of several lines the first says that the old functions stay in use", async () => {
  await save(async () => {
    throw new LocalError("synthesising failed: 2 type errors\n  a.ts\n  b.ts");
  }, "broken");
  expect(lines[1]).toBe("synthesising failed: 2 type errors; the old functions stay in use\n  a.ts\n  b.ts");
  await save(async () => {
    throw new LocalError("synthesising failed: invalid props:\n  a\n  b");
  }, "broken again");
  expect(lines.at(-1)).toBe("synthesising failed: invalid props; the old functions stay in use:\n  a\n  b");
});

test("a synthesis is told which files were saved", async () => {
  await save(async () => running, "second");
  expect(told).toEqual([[join(root, "app.ts")]]);
});

test("while an app fails, a draft is none of the files that run", async () => {
  const draft = write("draft.test.ts", "wrong");
  await save(async () => {
    throw new LocalError("synthesising failed: x");
  }, "second");
  await saved();
  expect([isUsed(join(root, "app.ts")), isUsed(draft)]).toEqual([true, false]);
});

test("the same failure is quoted once; then the log says that the app synthesises again", async () => {
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
    "the app fails as before; the old functions stay in use",
    "no y; the old functions stay in use",
    "the app synthesises again",
    SAME,
    "no y; the old functions stay in use",
  ]);
});

test("saves during a synthesis cause one more synthesis, of the last save", async () => {
  const { promise, resolve } = Promise.withResolvers<StackSpec>();
  const first = save(() => promise, "second");
  await expect.poll(() => synths).toBe(1);
  const others = [save(async () => withCode("3"), "third"), save(async () => withCode("4"), "fourth")];
  expect(synths).toBe(1);
  resolve(withCode("2"));
  await Promise.all([first, ...others]);
  expect(synths).toBe(2);
  expect(replaced.at(-1)?.codeHash).toBe("4");
});

test("files that an app writes during its synthesis cause only one more synthesis", async () => {
  await save(async () => {
    write("app.ts", "second, and what it wrote");
    return withCode("2");
  }, "second");
  expect(synths).toBe(2);
});

test("the log says that a synthesis begins, once for several syntheses in a row", async () => {
  await save(async () => {
    expect(lines).toEqual([SAVED]);
    if (synths < 3) write("app.ts", `${synths} files of its own`);
    return running;
  }, "second");
  expect(synths).toBe(3);
  expect(lines).toEqual([SAVED, SAME]);
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

test("the need for a restart names a few parts, and no line says that nothing has changed", async () => {
  const scheduleGroups = ["a", "b", "c", "d", "e", "f"];
  await save(async () => ({ ...running, scheduleGroups }), "second");
  expect(lines.slice(-2)).toEqual([
    "restart to apply schedule group a (new), schedule group b (new), schedule group c (new), schedule group d (new), schedule group e (new) and 1 more",
    "synthesised in 0.0 s: only a restart applies what has changed",
  ]);
});

test("it says that a table with another name has none of the jobs", async () => {
  const table = (name: string) => ({ name, arn: "", properties: {} });
  const { reloadAfterSave } = reloaderOf({ ...running, tables: [table("Old")] });
  next = async () => ({ ...running, tables: [table("New")] });
  write("app.ts", "second");
  await reloadAfterSave();
  expect(lines).toContain(
    "restart to apply table New (new), table Old (gone). Its new table has none of the jobs of the old table",
  );
});

test("a save that removes a topic says what becomes of its jobs", async () => {
  const environment = { MINUTEHAND_POLICY: '{"topics":{"letter":{}}}', MINUTEHAND_QUEUE_URL_PREFIX: "shop-" };
  const { reloadAfterSave } = reloaderOf({
    ...running,
    functions: [{ ...mail, environment }, refund],
    queues: [queue],
  });
  next = async () => running;
  write("app.ts", "second");
  await reloadAfterSave();
  expect(lines.filter((line) => line.includes("letter"))).toEqual([
    "restart to apply topic letter (gone)",
    "warning: the topic letter is not declared any more: its waiting jobs will be dead an hour after they are due, unless you declare it again",
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

const handlers = () =>
  stackWith({
    functions: ["Mail", "Refund"].map((name) => ({
      ...functionSpec(name),
      bundle: { inputs: [join(root, `${name}.ts`), join(root, "both.ts")], build: {} },
    })),
  });
const codeOf = ({ logicalId }: FunctionSpec) => readFileSync(join(root, `${logicalId}.ts`), "utf8");
/** The code of a handler is the text of its file. */
const bundleFile = (spec: FunctionSpec): Rebuilt => {
  const text = codeOf(spec);
  return text === "broken"
    ? { failure: `${spec.logicalId}.ts:1:1: no`, inputs: [] }
    : { spec: { ...spec, codeHash: text } };
};
/** Begins with two handlers that the app does not import. */
function withHandlers(bundles = bundleFile, stack = handlers): void {
  for (const name of ["Mail", "Refund"]) write(`${name}.ts`, name);
  write("both.ts", "");
  ({ reloadAfterSave: saved, isUsed } = reloaderOf(stack(), bundles));
}
const neverSynthesised = async () => {
  throw new Error("not expected");
};

test("a saved handler is replaced alone, without a synthesis", async () => {
  withHandlers();
  await save(neverSynthesised, "2", "Mail.ts");
  expect(replaced.map(({ logicalId, codeHash }) => [logicalId, codeHash])).toEqual([["Mail", "2"]]);
  expect(lines).toEqual(["reloaded Mail in 0.0 s"]);
});

test("only handlers that contain the saved file are bundled", async () => {
  const bundled: string[] = [];
  withHandlers((spec) => {
    bundled.push(spec.logicalId);
    return bundleFile(spec);
  });
  await save(neverSynthesised, "2", "Mail.ts");
  expect(bundled).toEqual(["Mail"]);
  await save(neverSynthesised, "2", "both.ts");
  expect(bundled).toEqual(["Mail", "Mail", "Refund"]);
  expect(lines.at(-1)).toBe("saved both.ts: nothing has changed");
});

test("a handler that does not compile is named once, and the old one stays until the new one compiles", async () => {
  withHandlers();
  await save(neverSynthesised, "broken", "Mail.ts");
  await save(neverSynthesised, "2", "both.ts");
  expect(replaced).toEqual([]);
  await save(neverSynthesised, "3", "Mail.ts");
  expect(replaced.map(({ codeHash }) => codeHash)).toEqual(["3"]);
  expect(lines).toEqual([
    "Mail.ts:1:1: no; the old Mail stays in use",
    "Mail works again",
    "reloaded Mail in 0.0 s",
  ]);
});

test("a broken file outside the app that no bundle contained yet is noticed when it is repaired, without a synthesis", async () => {
  const outer = realpathSync(mkdtempSync(join(tmpdir(), "minutehand-outer-")));
  const round = join(outer, "round.ts");
  try {
    writeFileSync(round, "broken");
    withHandlers((spec) =>
      spec.logicalId === "Mail" && readFileSync(round, "utf8") === "broken"
        ? { failure: "round.ts:1:1: no", inputs: [round] }
        : bundleFile(spec),
    );
    await save(neverSynthesised, "imports round.ts", "Mail.ts");
    writeFileSync(round, "mended");
    await saved();
    expect(lines).toEqual([
      "round.ts:1:1: no; the old Mail stays in use",
      "Mail works again",
      "reloaded Mail in 0.0 s",
    ]);
  } finally {
    rmSync(outer, { recursive: true });
  }
});

test.each(["mail.test.ts", "scratch.ts", "minutehand-0.1.0.tgz", "minutehand.topics.json"])(
  "a save of %s, which nothing imports, does nothing",
  async (name) => {
    withHandlers();
    await save(neverSynthesised, "new", name);
    await save(neverSynthesised, "saved again", name);
    expect(lines).toEqual([]);
  },
);

test("a new file at a place where the app looked for an import is synthesised", async () => {
  withHandlers();
  await save(async () => {
    inputs = [...inputs, join(root, "more", "topics.ts")];
    throw new LocalError("no more/topics.ts");
  }, "imports more/topics.ts");
  mkdirSync(join(root, "more"));
  await save(async () => handlers(), "", "more/topics.ts");
  expect(lines.slice(-3)).toEqual([
    "saved more/topics.ts: synthesising …",
    "the app synthesises again",
    SAME,
  ]);
});

test.each([
  ["repaired", (path: string) => writeFileSync(path, "mended")],
  ["deleted", (path: string) => rmSync(path)],
])(
  "while the app fails, a file that nothing imports is synthesised when it is %s, and afterwards it does nothing",
  async (_, repair) => {
    withHandlers();
    const topics = write("topics.test.ts", "a type error");
    await save(async () => {
      throw new LocalError("tsc says no");
    }, "imports nothing new");
    next = async () => handlers();
    repair(topics);
    await saved();
    expect(lines.slice(-3)).toEqual([
      "saved topics.test.ts: synthesising …",
      "the app synthesises again",
      SAME,
    ]);
    await save(neverSynthesised, "a draft", "topics.test.ts");
    expect(synths).toBe(2);
  },
);

test("while the app fails, a new code file is synthesised, and a file of another kind is not", async () => {
  withHandlers();
  await save(async () => {
    throw new LocalError("tsc says no");
  }, "uses a type that no file declares");
  now = Date.now();
  await save(neverSynthesised, "", "notes.txt");
  expect(synths).toBe(1);
  await save(async () => handlers(), "", "types.d.ts");
  expect(lines).toContain("saved types.d.ts: synthesising …");
});

test("a file that is saved while its first bundle is made is bundled again", async () => {
  withHandlers((spec) => {
    if (spec.logicalId === "Refund") return { spec };
    const path = write("part.ts", "saved");
    now = Date.now();
    return { spec: { ...bundled(spec), bundle: { inputs: [join(root, "Mail.ts"), path], build: {} } } };
  });
  let count = 0;
  const bundled = (spec: FunctionSpec) => ({ ...spec, codeHash: `${++count}` });
  now = Date.now();
  await save(neverSynthesised, "2", "Mail.ts");
  expect(count).toBe(2);
});

test("a handler's file that the app imports too is replaced at once, and then the app is synthesised", async () => {
  withHandlers(bundleFile, () => {
    const stack = handlers();
    const [first] = stack.functions;
    return {
      ...stack,
      functions: [{ ...first, bundle: { inputs: [join(root, "app.ts")], build: {} } } as FunctionSpec],
    };
  });
  await save(async () => handlers(), "2");
  expect(lines[0]).toBe(SAVED);
  expect(synths).toBe(1);
});

test("beside a function of another tool, which may contain any file, a saved handler needs a synthesis too", async () => {
  withHandlers(bundleFile, () => ({
    ...handlers(),
    functions: [...handlers().functions, functionSpec("Other")],
  }));
  await save(async () => handlers(), "2", "Mail.ts");
  expect(lines.slice(0, 2)).toEqual(["reloaded Mail in 0.0 s", "saved Mail.ts: synthesising …"]);
});

test("beside a function of another tool, new code needs a synthesis, and a test or another file does not", async () => {
  withHandlers(bundleFile, () => ({
    ...handlers(),
    functions: [...handlers().functions, functionSpec("Other")],
  }));
  now = Date.now();
  await saved();
  for (const name of ["new.test.ts", "shop.tgz"]) await save(neverSynthesised, "", name);
  expect(lines).toEqual([]);
  await save(async () => handlers(), "", "new.ts");
  expect(lines[0]).toBe("saved new.ts: synthesising …");
});

test("a handler that was saved during a synthesis keeps its later code", async () => {
  withHandlers();
  const { promise, resolve } = Promise.withResolvers<StackSpec>();
  const first = save(() => promise, "second");
  await expect.poll(() => synths).toBe(1);
  const second = save(() => promise, "later", "Mail.ts");
  await expect.poll(() => replaced).toHaveLength(1);
  resolve(handlers());
  await Promise.all([first, second]);
  expect(replaced.map(({ codeHash }) => codeHash)).toEqual(["later"]);
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

const queueNamed = (name: string) => ({
  name,
  url: "",
  arn: `arn:aws:sqs:us-east-1:0:${name}`,
  attributes: {},
});
const topicVariables = (...topics: string[]) => ({
  MINUTEHAND_QUEUE_URL_PREFIX: "http://127.0.0.1/0/shop-",
  MINUTEHAND_POLICY: JSON.stringify({ topics: Object.fromEntries(topics.map((topic) => [topic, {}])) }),
});
const sourceOf = (queue: string, { arn }: FunctionSpec) => ({
  ...{ uuid: queue, enabled: true, functionArn: arn, queueArn: queueNamed(queue).arn, batchSize: 1 },
  ...{ maximumConcurrency: undefined, reportsFailures: true },
});

test("the parts of a topic are named by the topic, and other parts come after it", () => {
  const [api, applier, target] = [functionSpec("Api"), functionSpec("Applier"), functionSpec("Target")];
  const caller = {
    ...functionSpec("ReceiptCaller"),
    environment: {
      MINUTEHAND_TARGET: `${target.arn}:live`,
      MINUTEHAND_WEBHOOK_SECRET: "arn:aws:secretsmanager:us-east-1:0:secret:ReceiptSecret",
    },
  };
  const old = stackWith({
    functions: [{ ...api, environment: topicVariables("report", "work") }],
    queues: ["shop-report", "shop-report_dlq", "shop-work"].map(queueNamed),
  });
  const now = stackWith({
    functions: [{ ...api, environment: topicVariables("receipt", "work") }, target, caller, applier],
    queues: ["shop-receipt", "shop-receipt_dlq", "shop-work", "shop_events", "mail"].map(queueNamed),
    eventSources: [
      sourceOf("shop-receipt", caller),
      sourceOf("shop-work", caller),
      sourceOf("shop_events", applier),
    ],
    secrets: [{ name: "ReceiptSecret", properties: {} }],
    eventRules: [
      {
        arn: "rule/Placed",
        bus: "",
        sources: [],
        detailTypes: [],
        queueArns: [queueNamed("shop_events").arn],
      },
    ],
  });
  expect(compareStacks(old, now).needRestart).toEqual([
    "topic receipt (new)",
    "event rules (new)",
    "topic work (changed)",
    "topic report (gone)",
    "queue mail (new)",
  ]);
});
