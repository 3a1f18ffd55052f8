/**
 * Makes a client from the OpenAPI document with each of five generators, compiles it, and plays one life of a job through it on a local
 * stack. Lints the document too. Needs Go, Java with Maven, Python, and the registries of npm, PyPI, Maven and Go.
 */
import { copyFileSync, cpSync, mkdirSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { LocalError } from "../../local/local-error.ts";
import { plainEnvironment, ROOT } from "../deploy/environment.ts";
import { pythonWith } from "../deploy/python.ts";
import { runSession, type Session } from "../deploy/session.ts";
import { said } from "../package/said.ts";
import { HANG_MS } from "../patience.ts";

const PYTHON = {
  name: "openapi-python-client",
  cache: "minutehand-generators",
  variable: "MINUTEHAND_GENERATORS_CACHE",
  requirements: join(import.meta.dirname, "python", "requirements.txt"),
};
const MAVEN = ["--batch-mode", "--no-transfer-progress", "--strict-checksums"];

/** Plays one life of a job through a client, on the stack at `url`. */
type Life = (url: string) => Promise<void>;

await runSession("test:generators", noOptions, async (session) => {
  setTimeout(() => process.kill(process.pid, "SIGTERM"), HANG_MS).unref();
  const document = join(session.folder, "openapi.json");
  copyFileSync(join(ROOT, "docs", "reference", "openapi.json"), document);
  for (const language of ["java", "python", "go", "typescript"])
    cpSync(join(import.meta.dirname, language), join(session.folder, language), { recursive: true });
  const clients = Promise.all([buildJavaAndPython(session), buildGo(session), buildTypeScript(session)]);
  const [url, lives] = await Promise.all([startStack(session), clients]);
  // One after the other, because each life pulls the jobs of the same topic.
  for (const live of lives.flat()) await live(url);
});

function noOptions(args: readonly string[]): Record<string, never> {
  if (args.length === 0) return {};
  throw new LocalError(`test:generators takes no arguments, got ${args.join(" ")}`);
}

async function startStack(session: Session): Promise<string> {
  const name = "minutehand local";
  const cli = join(ROOT, "src", "cli", "main.ts");
  const app = `${process.execPath} ${join(import.meta.dirname, "app.ts")}`;
  const args = [cli, "local", "--app", app, "--port", "0", "--no-watch"];
  const cwd = join(session.folder, "stack");
  mkdirSync(cwd);
  const server = session.serve({ name, command: process.execPath, args, cwd, env: plainEnvironment() });
  const [url] = await said(session, name, server, /http:\/\/127\.0\.0\.1:\d+/);
  return url;
}

/** One run of openapi-generator makes the clients for both languages. */
async function buildJavaAndPython(session: Session): Promise<Life[]> {
  const python = await pythonWith(session, PYTHON);
  const bin = dirname(python);
  // openapi-python-client looks for its formatter in the PATH.
  const path = `${bin}${delimiter}${process.env.PATH ?? ""}`;
  const run = runsIn(session, "python", { PYTHONPATH: ".:../java/target/python", PATH: path });
  const generate = ["generate", "--path", "../openapi.json", "--output-path", "client", "--meta", "none"];
  await run("openapi-python-client", join(bin, "openapi-python-client"), [...generate, "--fail-on-warning"]);
  const maven = runsIn(session, "java");
  await maven("openapi-generator", "mvn", [...MAVEN, "-Ddocument=../openapi.json", "compile"]);
  return [
    (url) => maven("life in Java", "mvn", [...MAVEN, `-Durl=${url}`, "exec:java"]),
    (url) => run("life in Python by openapi-generator", python, ["life_openapi_generator.py", url]),
    (url) => run("life in Python by openapi-python-client", python, ["life_openapi_python_client.py", url]),
  ];
}

async function buildGo(session: Session): Promise<Life> {
  const run = runsIn(session, "go");
  mkdirSync(join(session.folder, "go", "client"));
  const generate = ["-generate", "types,client", "-package", "client", "-o", "client/client.go"];
  await run("oapi-codegen", "go", ["tool", "oapi-codegen", ...generate, "../openapi.json"]);
  await run("go build", "go", ["build", "-o", "life", "."]);
  return (url) => run("life in Go", "./life", [url]);
}

async function buildTypeScript(session: Session): Promise<Life> {
  const run = runsIn(session, "typescript", { REDOCLY_TELEMETRY: "off" });
  const bin = (name: string): string => join(session.folder, "typescript", "node_modules", ".bin", name);
  await run("npm ci", "npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"]);
  await run("redocly", bin("redocly"), ["lint", "--extends", "recommended-strict", "../openapi.json"]);
  await run("spectral", bin("spectral"), ["lint", "--fail-severity", "hint", "../openapi.json"]);
  const generate = ["../openapi.json", "--default-non-nullable", "false", "--output", "client.d.ts"];
  await run("openapi-typescript", bin("openapi-typescript"), generate);
  await run("tsc", bin("tsc"), []);
  return (url) => run("life in TypeScript", process.execPath, ["life.ts", url]);
}

/** Answers a function that runs a program in a folder of the session, and says so. */
function runsIn(session: Session, folder: string, variables: NodeJS.ProcessEnv = {}) {
  const env = { ...plainEnvironment(), ...variables };
  return (name: string, command: string, args: readonly string[]): Promise<void> => {
    session.progress(name);
    return session.run({ name, command, args, cwd: join(session.folder, folder), env });
  };
}
