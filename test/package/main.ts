/**
 * Tests the package as a user gets it: packs it, installs it into an empty folder, checks its types, installs the CDK, synthesises an app,
 * and runs it locally while a handler is saved. Then plays the documentation's first job, the examples, an app of `cdk init` with Jest and a
 * service with Vitest, and measures saves. Needs the npm registry, and takes some minutes.
 */
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { LocalError } from "../../local/local-error.ts";
import { readManifest } from "../../tools/package/entries.ts";
import { plainEnvironment, ROOT } from "../deploy/environment.ts";
import { runSession, type Session } from "../deploy/session.ts";
import { HANG_MS } from "../patience.ts";
import { checkBullMq } from "./bullmq.ts";
import { playCommonJs } from "./commonjs.ts";
import { openConsoles } from "./console.ts";
import { faultsIn } from "./contents.ts";
import { playExamples } from "./examples.ts";
import { playFirstHour, playVitest, playWorkspace } from "./first-hour.ts";
import { excessIn } from "./plain-install.ts";
import { logOf, said } from "./said.ts";
import { measureSaves } from "./saves.ts";
import { playExistingApp, playStart } from "./start.ts";
import { versionOf } from "./version.ts";

const LOCAL = "minutehand local";

await runSession("test:package", noOptions, async (session) => {
  // If it hangs, this stops as if a user had stopped it, so all programs that it has started end.
  setTimeout(() => process.kill(process.pid, "SIGTERM"), 3 * HANG_MS).unref();
  const app = join(session.folder, "shop");
  cpSync(join(import.meta.dirname, "app"), app, { recursive: true });
  const tarball = await pack(session);
  await installStepwise(session, app, tarball);
  await synthesise(session, app);
  await play(session, app);
  await playStart(session, tarball);
  await playFirstHour(session, tarball);
  await playWorkspace(session, tarball);
  await playVitest(session, tarball);
  await playExistingApp(session, tarball);
  await playExamples(session, app);
  await playCommonJs(session, tarball);
  await checkBullMq(session);
  await measureSaves(session, app);
});

/** Installs the package, the CDK and what `minutehand local` asks for, one after the other, and checks each time what can be imported. */
async function installStepwise(session: Session, app: string, tarball: string): Promise<void> {
  session.progress("npm install of the package alone");
  await install(session, app, tarball);
  const excess = excessIn(app);
  if (excess.length > 0) throw new LocalError(`a plain install brings too much: ${excess.join("; ")}`);
  const names = Object.keys(readManifest(ROOT).exports).filter((name) => !name.endsWith(".json"));
  const withoutCdk = names.filter((name) => name !== "./cdk");
  await load(session, app, withoutCdk);
  await check(session, app, ["shop.ts", "handlers/order-timeout.ts", importing(app, withoutCdk)]);

  session.progress("npm install of the CDK");
  await install(session, app, versionOf("aws-cdk-lib"), versionOf("constructs"));
  await load(session, app, names);
  await check(session, app, ["app.ts", importing(app, names)]);

  session.progress("npm install of what minutehand local asks for");
  await install(session, app, ...(await packagesAskedFor(session, app)));
}

async function synthesise(session: Session, app: string): Promise<void> {
  session.progress("cdk synth");
  const cdk = join(ROOT, "node_modules", "aws-cdk", "bin", "cdk");
  const args = [cdk, "synth", "--app", "node app.ts", "--quiet", "--output", join(session.folder, "cdk.out")];
  await session.run({
    name: "cdk synth",
    command: process.execPath,
    args,
    cwd: app,
    env: plainEnvironment(),
  });
}

function noOptions(args: readonly string[]): Record<string, never> {
  if (args.length === 0) return {};
  throw new LocalError(`test:package takes no arguments, got ${args.join(" ")}`);
}

async function pack(session: Session): Promise<string> {
  session.progress("npm pack");
  const { folder } = session;
  await npm(session, ROOT, "pack", "--pack-destination", folder);
  const [tarball] = readdirSync(folder).filter((name) => name.endsWith(".tgz"));
  if (tarball === undefined) throw new LocalError("npm pack made no tarball");
  const unpacked = join(folder, "unpacked");
  mkdirSync(unpacked);
  const args = ["-xzf", join(folder, tarball), "-C", unpacked];
  await session.run({ name: "tar", command: "tar", args });
  const faults = faultsIn(join(unpacked, "package"));
  if (faults.length > 0) throw new LocalError(`the package is not as it must be: ${faults.join("; ")}`);
  return join(folder, tarball);
}

/** The packages that `minutehand local` needs beyond a plain install. Without them it prints the npm command that installs them. */
async function packagesAskedFor(session: Session, cwd: string): Promise<string[]> {
  const name = "minutehand local without its packages";
  const args = ["--no-install", "minutehand", "local", "--app", "node app.ts", "--port", "0"];
  const env = plainEnvironment();
  const failure = await session.run({ name, command: "npx", args, cwd, env }).catch((error: Error) => error);
  const output = readFileSync(logOf(session, name), "utf8");
  const [, command] = /fauxqs and esbuild, which are not installed: npm install (.*)/.exec(output) ?? [];
  if (failure === undefined || command === undefined)
    throw new LocalError(`${name} must name fauxqs and esbuild, printed: ${output}`);
  return command.split(" ").map((part) => part.replaceAll('"', ""));
}

function install(session: Session, app: string, ...packages: readonly string[]): Promise<void> {
  return npm(session, app, "install", "--no-audit", "--no-fund", ...packages);
}

function npm(session: Session, cwd: string, ...args: readonly string[]): Promise<void> {
  return session.run({ name: `npm ${args[0]}`, command: "npm", args, cwd, env: plainEnvironment() });
}

async function load(session: Session, app: string, names: readonly string[]): Promise<void> {
  const imports = names.map((name) => `await import("minutehand${name.slice(1)}");`);
  const args = ["--input-type=module", "--eval", imports.join("\n")];
  await session.run({ name: "import", command: process.execPath, args, cwd: app, env: plainEnvironment() });
}

function importing(app: string, names: readonly string[]): string {
  const imports = names.map((name, index) => `export * as m${index} from "minutehand${name.slice(1)}";`);
  writeFileSync(join(app, "exports.ts"), `${imports.join("\n")}\n`);
  return "exports.ts";
}

/** Checks types as strictly as a user may. Ignores errors in the declarations of other packages, which we cannot fix. */
async function check(session: Session, app: string, files: readonly string[]): Promise<void> {
  for (const [module, moduleResolution] of [
    ["nodenext", "nodenext"],
    ["esnext", "bundler"],
  ]) {
    session.progress(`tsc with ${moduleResolution}`);
    const compilerOptions = {
      ...{ module, moduleResolution, target: "es2024", lib: ["es2024", "dom"], types: [], noEmit: true },
      ...{ strict: true, exactOptionalPropertyTypes: true, skipLibCheck: false },
    };
    writeFileSync(join(app, "tsconfig.json"), JSON.stringify({ compilerOptions, files }));
    const name = `tsc ${moduleResolution} ${files.length}`;
    const command = join(ROOT, "node_modules", ".bin", "tsc");
    const failure = await session
      .run({ name, command, args: ["--pretty", "false"], cwd: app, env: plainEnvironment() })
      .catch((error: Error) => error);
    if (failure === undefined) continue;
    const lines = readFileSync(logOf(session, name), "utf8").split("\n");
    const errors = lines.filter((line) => /error TS/.test(line));
    const ours = errors.filter((line) => !/^node_modules\/(?!minutehand\/)/.test(line));
    if (ours.length > 0 || errors.length === 0) throw new LocalError(`${name}: ${ours[0] ?? failure}`);
  }
}

/** Runs the local stack. A job runs, a handler is saved, and the next job runs with the new code. */
async function play(session: Session, app: string): Promise<void> {
  session.progress(LOCAL);
  const args = ["--no-install", "minutehand", "local", "--app", "node app.ts", "--port", "0"];
  const server = session.serve({ name: LOCAL, command: "npx", args, cwd: app, env: plainEnvironment() });
  const [url = ""] = await said(session, LOCAL, server, /http:\/\/127\.0\.0\.1:\d+/);
  await enqueue(url, 17);
  await said(session, LOCAL, server, /closed order 17/);
  await openConsoles(session, app, url);
  session.progress("a handler is saved");
  const handler = join(app, "handlers", "order-timeout.ts");
  writeFileSync(handler, readFileSync(handler, "utf8").replace("closed order", "gave up order"));
  await said(session, LOCAL, server, /reloaded .*order-?timeout/);
  await enqueue(url, 18);
  await said(session, LOCAL, server, /gave up order 18/);
  await server.stop();
}

async function enqueue(url: string, order: number): Promise<void> {
  const job = { topic: "order-timeout", delay: 0, body: { order } };
  const headers = { "content-type": "application/json" };
  const response = await fetch(`${url}/jobs`, { method: "POST", headers, body: JSON.stringify(job) });
  if (response.status !== 201) throw new LocalError(`POST /jobs answered ${await response.text()}`);
}
