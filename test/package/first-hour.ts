import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { LocalError } from "../../local/local-error.ts";
import { plainEnvironment } from "../deploy/environment.ts";
import type { Session } from "../deploy/session.ts";
import { logOf, said } from "./said.ts";
import { versionOf } from "./version.ts";

const TOPIC = "order-timeout";
/** The statement of a handler that `init` writes. */
export const RUNS = `console.log(\`${TOPIC}: job \${job.body.id} runs\`);`;

export type Project = {
  /** The project's name in lines of progress and in names of logs. */
  readonly name: string;
  readonly cwd: string;
  readonly handler: string;
  /** The statement of the handler that the user breaks. */
  readonly statement: string;
  readonly options?: readonly string[];
};

function clockOf({ progress }: Session, { name }: Pick<Project, "name">) {
  return async <T>(step: string, work: () => Promise<T>): Promise<T> => {
    const began = performance.now();
    const result = await work();
    progress(`${name}: ${step}: ${((performance.now() - began) / 1000).toFixed(1)} s`);
    return result;
  };
}

/** What a new user does: `init`, the first job, a handler that fails, its repair, the tests, the template, and the portable database. */
export async function playFirstHour(session: Session, tarball: string): Promise<void> {
  const project: Project = {
    name: "first hour",
    cwd: join(session.folder, "hour"),
    handler: `jobs/${TOPIC}.ts`,
    statement: RUNS,
  };
  mkdirSync(project.cwd);
  // It writes that the package is CommonJS, which nobody has asked for.
  await run(session, project, "npm", "init", "--yes");
  await initialise(session, project, tarball);
  await playLocal(session, project);
  await runScripts(session, project);
  expectTestsRan(session, project, "a job of order-timeout runs when it is due");
  const options = ["--database", "portable", "--data", ".portable"];
  await playLocal(session, { ...project, name: "first hour on the portable database", options });
}

/** As `playFirstHour` without the portable database, in a folder of an npm workspace. The handler imports from another folder of it. */
export async function playWorkspace(session: Session, tarball: string): Promise<void> {
  const root = join(session.folder, "workspace");
  const words = join(root, "packages", "words");
  const project: Project = {
    name: "first hour in a workspace",
    cwd: join(root, "apps", "shop"),
    handler: "../../packages/words/index.ts",
    statement: `return \`${TOPIC}: job \${id} runs\`;`,
  };
  for (const folder of [words, project.cwd]) mkdirSync(folder, { recursive: true });
  writeFileSync(join(root, "package.json"), JSON.stringify({ workspaces: ["apps/*", "packages/*"] }));
  const exported = { name: "words", version: "1.0.0", type: "module", exports: "./index.ts" };
  writeFileSync(join(words, "package.json"), JSON.stringify(exported));
  const wordsOf = `export function wordsOf(id: string): string {\n  ${project.statement}\n}\n`;
  writeFileSync(join(words, "index.ts"), wordsOf);
  const own = { name: "shop", version: "1.0.0", type: "module", dependencies: { words: "1.0.0" } };
  writeFileSync(join(project.cwd, "package.json"), JSON.stringify(own));
  await initialise(session, project, tarball);
  const handler = join(project.cwd, "jobs", `${TOPIC}.ts`);
  const text = readFileSync(handler, "utf8").replace(
    /console\.log\(.*\);/,
    "console.log(wordsOf(job.body.id));",
  );
  writeFileSync(handler, `import { wordsOf } from "words";\n${text}`);
  await playLocal(session, project);
  await runScripts(session, project);
}

/** A service with Vitest that has its own `app.ts`, code in `src` and tests in `test`. */
export async function playVitest(session: Session, tarball: string): Promise<void> {
  const project: Project = {
    name: "first hour with Vitest",
    cwd: join(session.folder, "vitest", "shop"),
    handler: `src/jobs/${TOPIC}.ts`,
    statement: RUNS,
  };
  for (const folder of ["src", "test"]) mkdirSync(join(project.cwd, folder), { recursive: true });
  const [vitest, version] = versionOf("vitest").split("@");
  const own = {
    name: "shop",
    type: "module",
    scripts: { test: "vitest run" },
    devDependencies: { [`${vitest}`]: version },
  };
  const compilerOptions = {
    module: "nodenext",
    target: "es2024",
    strict: true,
    outDir: "dist",
    skipLibCheck: true,
  };
  const files = {
    "package.json": JSON.stringify(own),
    "tsconfig.json": `{\n  // as the service is built\n  "compilerOptions": ${JSON.stringify(compilerOptions)}\n}\n`,
    "src/app.ts": "export const price = 17;\n",
    "test/app.test.ts": [
      'import { expect, test } from "vitest";',
      'import { price } from "../src/app.js";',
      'test("the price", () => expect(price).toBe(17));\n',
    ].join("\n"),
  };
  for (const [path, text] of Object.entries(files)) writeFileSync(join(project.cwd, path), text);
  await initialise(session, project, tarball);
  await run(session, project, "npm", "run", "check");
  await runScripts(session, project);
  expectTestsRan(session, project, "✓ test/order-timeout.test.ts", "✓ test/app.test.ts");
  await playLocal(session, project);
}

/** Throws if `npm test` has not printed each of these lines of its runner. */
export function expectTestsRan(session: Session, { name }: Project, ...lines: readonly string[]): void {
  const printed = stripVTControlCharacters(readFileSync(logOf(session, `${name} npm test`), "utf8"));
  const missing = lines.filter((line) => !printed.includes(line));
  if (missing.length > 0) throw new LocalError(`npm test has not printed ${missing.join(", ")}:\n${printed}`);
}

export async function initialise(session: Session, project: Project, tarball: string): Promise<void> {
  const timed = clockOf(session, project);
  const install = ["install", "--no-audit", "--no-fund"];
  await timed("npm install minutehand", () => run(session, project, "npm", ...install, tarball));
  const init = ["--no-install", "minutehand", "init", "--topic", TOPIC];
  await timed("npx minutehand init", () => run(session, project, "npx", ...init));
  await timed("npm install", () => run(session, project, "npm", ...install));
}

export async function runScripts(session: Session, project: Project): Promise<void> {
  const timed = clockOf(session, project);
  await timed("npm test", () => run(session, project, "npm", "test"));
  await timed("npm run synth", () => run(session, project, "npm", "run", "synth"));
}

/** The script `local` that `init` wrote starts the stack. A job runs, a handler that throws is seen with its file and line, and a job runs again after the repair. */
export async function playLocal(session: Session, project: Project): Promise<void> {
  const { name, cwd, options = [] } = project;
  const handler = join(cwd, project.handler);
  const timed = clockOf(session, project);
  const args = ["run", "local", "--", "--port", "0", ...options];
  const server = session.serve({ name, command: "npm", args, cwd, env: plainEnvironment() });
  const saw = (pattern: RegExp) => said(session, name, server, pattern);
  const [url = ""] = await timed("npm run local is up", () => saw(/http:\/\/127\.0\.0\.1:\d+/));
  await timed("a job runs", async () => {
    await enqueue(url, "17");
    await saw(/job 17 runs/);
  });

  const whole = readFileSync(handler, "utf8");
  const broken = whole.replace(project.statement, 'throw new Error("the shop is closed");');
  const line = broken.slice(0, broken.indexOf("throw new Error")).split("\n").length;
  if (broken === whole) throw new LocalError(`${project.handler} has no ${project.statement}`);
  writeFileSync(handler, broken);
  await timed("the broken handler is in use", () => saw(/reloaded/));
  await timed("a job fails, with file and line", async () => {
    await enqueue(url, "18");
    const path = project.handler.replace(/^.*\//, "").replaceAll(".", "\\.");
    await saw(new RegExp(`the shop is closed[\\s\\S]*${path}:${line}:`));
  });
  writeFileSync(handler, whole);
  await timed("the repaired handler is in use", () => saw(/reloaded[\s\S]*reloaded/));
  await timed("a job runs again", async () => {
    await enqueue(url, "19");
    await saw(/job 19 runs/);
  });
  await server.stop();
}

async function enqueue(url: string, id: string): Promise<void> {
  const job = { topic: TOPIC, delay: 0, body: { id, orderId: id } };
  const headers = { "content-type": "application/json" };
  const response = await fetch(`${url}/jobs`, { method: "POST", headers, body: JSON.stringify(job) });
  if (response.status !== 201) throw new LocalError(`POST /jobs answered ${await response.text()}`);
}

function run(session: Session, { name, cwd }: Project, command: string, ...args: string[]): Promise<void> {
  const log = `${name} ${command} ${args.filter((one) => /^[a-z]+$/.test(one)).join(" ")}`;
  return session.run({ name: log, command, args, cwd, env: plainEnvironment() });
}
