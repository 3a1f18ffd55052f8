import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { dropUnusedAssemblies, touch } from "./assembly-cache.ts";
import type { Guard } from "./guard.ts";
import { errorText, LocalError } from "./local-error.ts";
import { end } from "./processes.ts";
import { hashFolder, type Sources } from "./sources.ts";

export type Project = {
  readonly sources: Sources;
  /** The command that runs the app; without one `cdk.json` names it. */
  readonly app?: string | undefined;
  readonly cacheDir: string;
};

type Surroundings = {
  readonly guard: Guard;
  readonly progress: (line: string) => void;
  /** Ends the app, and all that it has started. */
  readonly signal: AbortSignal;
};

/**
 * The folder of the synthesised app. The app of a `cdk.json` runs only if a file of its folder has changed; of a command
 * nobody knows what it reads. Throws `LocalError` for an app that fails, and the signal's reason.
 */
export async function synthesise(project: Project, surroundings: Surroundings): Promise<string> {
  const { sources, app, cacheDir } = project;
  const inputs = app === undefined ? hashFolder(sources) : undefined;
  let outdir = join(cacheDir, inputs ?? "");
  if (inputs === undefined || !existsSync(join(outdir, "manifest.json"))) {
    surroundings.progress("Building the functions and synthesising the stack …");
    // Renamed into place when complete, so that a crash or a second runner never meets half of it.
    const draft = join(cacheDir, `draft.${process.pid}.${process.hrtime.bigint()}`);
    try {
      mkdirSync(draft, { recursive: true });
      await runApp(project, draft, surroundings);
      // What was saved meanwhile may be in it already, and is not what those inputs make.
      const isOfInputs = inputs !== undefined && inputs === hashFolder(sources);
      outdir = join(cacheDir, isOfInputs ? inputs : hashFolder({ root: draft }));
      moveInto(draft, outdir);
    } finally {
      rmSync(draft, { recursive: true, force: true });
    }
  }
  touch(outdir);
  dropUnusedAssemblies(cacheDir, Date.now());
  return outdir;
}

function moveInto(draft: string, outdir: string): void {
  try {
    renameSync(draft, outdir);
  } catch (error) {
    // Another runner was faster with the same inputs.
    if (!existsSync(join(outdir, "manifest.json"))) throw error;
  }
}

/** Runs the app as the CDK's command line does: https://docs.aws.amazon.com/cdk/v2/guide/apps.html */
async function runApp(project: Project, outdir: string, { guard, signal }: Surroundings): Promise<void> {
  const { root } = project.sources;
  const { app, context } = settingsOf(project);
  const bins = [dirname(process.execPath), join(root, "node_modules", ".bin")].join(delimiter);
  const { CDK_DEFAULT_ACCOUNT: _account, CDK_DEFAULT_REGION: _region, ...inherited } = process.env;
  const child = spawn(app, {
    cwd: root,
    shell: true,
    // A group of its own, which is ended as a whole: a shell passes no signal on.
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      ...inherited,
      PATH: `${bins}${delimiter}${process.env.PATH ?? ""}`,
      CDK_OUTDIR: outdir,
      CDK_CONTEXT_JSON: JSON.stringify(context),
    },
  });
  guard.watchGroup(child);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (data: Buffer) => (output += data));
  const how = await endOf(child, signal);
  if (how !== 0)
    throw new LocalError(`synthesising failed: \`${app}\` ended with ${how}: ${reasonIn(output)}`);
  if (!existsSync(join(outdir, "manifest.json")))
    throw new LocalError(`synthesising failed: \`${app}\` wrote no manifest.json into CDK_OUTDIR`);
}

/** The exit code, or the signal's name. */
async function endOf(child: ChildProcess, signal: AbortSignal): Promise<number | string | null> {
  const { promise, resolve, reject } = Promise.withResolvers<number | string | null>();
  const stop = () => {
    if (child.exitCode !== null || child.signalCode !== null) reject(signal.reason);
    if (child.pid !== undefined) end(-child.pid, "SIGKILL");
  };
  child.once("error", reject);
  child.once("close", (code, by) => resolve(code ?? by));
  // What has left the group may hold its output open.
  child.once("exit", () => {
    if (signal.aborted) reject(signal.reason);
  });
  if (signal.aborted) stop();
  signal.addEventListener("abort", stop);
  try {
    return await promise;
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

function settingsOf({ sources: { root }, app: command }: Project): {
  app: string;
  context: Record<string, unknown>;
} {
  const path = join(root, "cdk.json");
  if (command === undefined && !existsSync(path))
    throw new LocalError(
      `there is no ${path} that names the app; name the app with --app, such as --app "node app.ts"`,
    );
  const { app = command, context = {} } = readJson(path);
  if (typeof app !== "string") throw new LocalError(`${path} must name the app's command as "app"`);
  return { app: command ?? app, context: { ...context, ...readJson(join(root, "cdk.context.json")) } };
}

function readJson(path: string): { app?: unknown; context?: Record<string, unknown> } {
  if (!existsSync(path)) return {};
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    throw new LocalError(`${path} must be JSON: ${errorText(error)}`);
  }
}

/** What went wrong, on one line, among stack traces and quoted source. */
function reasonIn(output: string): string {
  const lines = output
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
  const telling = lines.findIndex((line) => /^(\S*Error\b|✘|.*\berror:)/i.test(line));
  const [first = "it said nothing", ...others] = lines.slice(Math.max(telling, 0));
  if (!first.endsWith(":")) return first;
  const end = others.findIndex((line) => line.startsWith("at "));
  return [first, ...others.slice(0, end < 0 ? 1 : end)].join(" ");
}
