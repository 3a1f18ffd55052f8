import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { LocalError } from "../../local/local-error.ts";
import { plainEnvironment, ROOT } from "../deploy/environment.ts";
import type { Session } from "../deploy/session.ts";
import { blocksOf, fileOf, readPage } from "../docs/blocks.ts";
import { expectTestsRan, initialise, playLocal, RUNS, runScripts } from "./first-hour.ts";

const NAME = "CommonJS";
const PAGE = "docs/guides/commonjs.md";
/** The files of the page that `init` writes. */
const WRITTEN = ["jobs/topics.ts", "jobs/order-timeout.ts", "test/order-timeout.test.ts"];
/** Loads all exports as CommonJS, and then the client as ES module too. Both must give the same class of errors. */
const REQUIRE = `
const exported = ["client", "consumer", "webhook", "cdk", "testing"];
for (const name of exported) require("minutehand/" + name);
import("minutehand/client").then(({ MinutehandError }) => {
  if (MinutehandError !== require("minutehand/client").MinutehandError) throw new Error("import and require give two classes");
});`;

/**
 * Bundles code that both requires and imports the package. The bundle must have each module once, or a handler's chain would be lost between
 * the two, and must leave out what the code does not use.
 */
const BUNDLE = `
const contents = 'exports.client = require("minutehand/client"); exports.consumer = import("minutehand/consumer");';
const options = { bundle: true, platform: "node", format: "cjs", write: false, metafile: true, external: ["@aws-sdk/*"] };
const { metafile } = require("esbuild").buildSync({ ...options, stdin: { contents, resolveDir: process.cwd() } });
const wrong = Object.keys(metafile.inputs).filter((path) => /aws-cdk-lib|commonjs.all/.test(path));
if (wrong.length > 0) throw new Error("the bundle has " + wrong.length + " other files, such as " + wrong[0]);`;

/** A Jest test of a queue whose timers and clocks are all faked, before the kit is loaded, before the queue is created, and after it. */
const FAKE_TIMERS = `
const load = () => require("minutehand/testing");
const queueOf = () => load().createTestQueue({
  topics: {
    orders: { handler: ({ attempt }) => { if (attempt === 1) throw new Error("no bank"); } },
    many: { handler: () => {} },
    work: { consumer: "pull" },
  },
});
async function play(queue) {
  await queue.client.enqueue("orders", 1, { delay: "30m" });
  await queue.client.enqueue("work", 1, { delay: "30m" });
  await queue.client.enqueueMany(Array.from({ length: 250 }, (_, body) => ({ topic: "many", body, delay: "2h" })));
  await queue.client.putSchedule("daily", { expression: "cron(30 9 * * ? *)", topic: "orders", body: 2 });
  await queue.advance("1d");
  const [{ receipt }] = await queue.client.receive("work");
  await queue.client.finish("work", receipt);
  expect(queue.jobs().filter(({ state }) => state === "done")).toHaveLength(253);
}
afterEach(() => jest.useRealTimers());
describe.each([[{}], [{ legacyFakeTimers: true }]])("with fake timers %j", (options) => {
  const fake = () => jest.useFakeTimers(options);
  test("before the kit is loaded", async () => {
    fake();
    jest.resetModules();
    await play(queueOf());
  });
  test("before the queue is created", async () => {
    load();
    fake();
    await play(queueOf());
  });
  test("after the queue is created", async () => {
    const queue = queueOf();
    fake();
    await play(queue);
  });
});
test("a handler that waits for a faked timer is named", async () => {
  jest.useFakeTimers();
  const handler = () => new Promise((resolve) => setTimeout(resolve, 1000));
  const queue = load().createTestQueue({ topics: { orders: { handler } }, handlerTimeout: 20 });
  await queue.client.enqueue("orders", 1, { delay: 0 });
  await expect(queue.advance(0)).rejects.toThrow("has not ended in 20 ms");
});
`;

/**
 * The first hour in the project that `cdk init` writes, by docs/guides/commonjs.md: `init`, the lines for the stack, Jest, the template, and
 * `minutehand local`. The user edits no other file.
 */
export async function playCommonJs(session: Session, tarball: string): Promise<void> {
  session.progress(NAME);
  // The CDK names the app by its folder.
  const cwd = join(session.folder, "commonjs", "shop");
  mkdirSync(cwd, { recursive: true });
  const env = plainEnvironment();
  const run = (name: string, command: string, ...args: readonly string[]) =>
    session.run({ name: `${NAME} ${name}`, command, args, cwd, env });
  const cdk = join(ROOT, "node_modules", "aws-cdk", "bin", "cdk");
  await run("cdk init", process.execPath, cdk, "init", "app", "--language", "typescript", "--generate-only");
  const settings = readFileSync(join(cwd, "tsconfig.json"), "utf8");
  const project = { name: "first hour in CommonJS", cwd, handler: "jobs/order-timeout.ts", statement: RUNS };
  await initialise(session, project, tarball);
  for (const block of blocksOf(PAGE, readPage(PAGE))) {
    const file = fileOf(block);
    if (file === undefined) continue;
    if (WRITTEN.includes(file)) expectText(join(cwd, file), block.text.replace(/^.*\n/, ""));
    else writeFileSync(join(cwd, file), block.text);
  }
  expectText(join(cwd, "tsconfig.json"), settings);
  await run("tsc", "npx", "--no-install", "tsc");
  await runScripts(session, project);
  expectTestsRan(session, project, "PASS test/order-timeout.test.ts");
  writeFileSync(join(cwd, "fake-timers.test.js"), FAKE_TIMERS);
  const config = JSON.stringify({ testMatch: ["**/fake-timers.test.js"] });
  await run("Jest with fake timers", "npx", "--no-install", "jest", "--config", config);
  await run("require", process.execPath, "--eval", REQUIRE);
  await run("bundle", process.execPath, "--eval", BUNDLE);
  await playLocal(session, project);
}

/** Throws if `init` has not written what the page shows, or has changed what it must leave. */
function expectText(path: string, text: string): void {
  const actual = readFileSync(path, "utf8");
  if (actual !== text) throw new LocalError(`${path} is not as expected:\n${actual}`);
}
