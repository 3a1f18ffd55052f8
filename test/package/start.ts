import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { LocalError } from "../../local/local-error.ts";
import { plainEnvironment } from "../deploy/environment.ts";
import type { Session } from "../deploy/session.ts";
import { blocksOf, readPage } from "../docs/blocks.ts";
import { logOf, said } from "./said.ts";

const NAME = "the first job";
const PAGE = "docs/start.md";
const EXISTING = "init in an app";

/** Follows docs/start.md in an empty folder: `init`, its tests, its template, and a job that runs. */
export async function playStart(session: Session, tarball: string): Promise<void> {
  session.progress(NAME);
  const cwd = join(session.folder, "start");
  mkdirSync(cwd);
  await initIn(session, cwd, tarball);
  for (const script of ["test", "check", "synth"]) await npm(session, cwd, NAME, "run", script);

  const commands = blocksOf(PAGE, readPage(PAGE)).filter(({ kind }) => kind === "sh");
  const local = commands.findIndex(({ text }) => text.startsWith("npm run local"));
  // The port of the page may be taken.
  const args = ["run", "local", "--", "--port", "0"];
  const stack = session.serve({ name: NAME, command: "npm", args, cwd, env: plainEnvironment() });
  const [url = ""] = await said(session, NAME, stack, /http:\/\/127\.0\.0\.1:\d+/);
  // The example command that the stack prints when it is up has a body of the type that is declared for the topic.
  await said(session, NAME, stack, /"body":\{"id":"17"\}/);
  for (const [index, { text }] of commands.slice(local + 1).entries()) {
    const typed = `set -euo pipefail; curl() { command curl --silent --fail-with-body "$@"; }\n${text}`;
    await session.run({
      name: `${NAME} ${index}`,
      command: "bash",
      args: ["-c", typed],
      cwd,
      env: { ...plainEnvironment(), URL: url, MINUTEHAND_URL: url },
    });
  }
  await said(session, NAME, stack, /order-timeout: job 17 runs/);
  await stack.stop();
}

/** Runs `init` in a CDK app that has its own script for tests, and adds the lines that `init` prints to the app's file. */
export async function playExistingApp(session: Session, tarball: string): Promise<void> {
  session.progress(EXISTING);
  const cwd = join(session.folder, "existing");
  mkdirSync(cwd);
  const scripts = { test: "node --version" };
  writeFileSync(join(cwd, "package.json"), JSON.stringify({ private: true, type: "module", scripts }));
  writeFileSync(join(cwd, "cdk.json"), JSON.stringify({ app: "node main.ts" }));
  const app = 'import { App, Stack } from "aws-cdk-lib";\nconst stack = new Stack(new App(), "Shop");\n';
  writeFileSync(join(cwd, "main.ts"), app);
  const { add } = await initIn(session, cwd, tarball);
  const [{ lines } = { lines: [] }] = add.filter(({ to }) => to === "the stack of your app");
  writeFileSync(join(cwd, "main.ts"), `${app}${lines.join("\n").replace("(this,", "(stack,")}\n`);
  for (const script of ["test", "synth"]) await npm(session, cwd, EXISTING, "run", script);
  const printed = readFileSync(logOf(session, `${EXISTING} npm run test`), "utf8");
  if (!printed.includes("a job of order-timeout runs when it is due"))
    throw new LocalError(`npm test has not run the test that init wrote:\n${printed}`);
  const template = readFileSync(join(cwd, "cdk.out", "Shop.template.json"), "utf8");
  if (!template.includes("AWS::Lambda::EventSourceMapping"))
    throw new LocalError("the lines that init printed made no consumer");
}

type Told = { readonly add: readonly { readonly to: string; readonly lines: readonly string[] }[] };

/** Installs the package, lets `init` write its files, and installs the packages that `init` added. Answers what `init` printed. */
async function initIn(session: Session, cwd: string, tarball: string): Promise<Told> {
  const name = cwd === join(session.folder, "start") ? NAME : EXISTING;
  await npm(session, cwd, name, "install", "--no-audit", "--no-fund", tarball);
  const init = "npx --no-install minutehand init --topic order-timeout --json > told.json";
  await session.run({
    name: `${name} init`,
    command: "bash",
    args: ["-c", init],
    cwd,
    env: plainEnvironment(),
  });
  await npm(session, cwd, name, "install", "--no-audit", "--no-fund");
  return JSON.parse(readFileSync(join(cwd, "told.json"), "utf8"));
}

function npm(session: Session, cwd: string, name: string, ...args: readonly string[]): Promise<void> {
  const log = `${name} npm ${args.slice(0, 2).join(" ")}`.replaceAll(":", "-");
  return session.run({ name: log, command: "npm", args, cwd, env: plainEnvironment() });
}
