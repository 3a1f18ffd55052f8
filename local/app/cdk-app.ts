import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, dirname, extname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { stripVTControlCharacters } from "node:util";
import { readText } from "../../src/general/read-text.ts";
import { errorText, LocalError } from "../local-error.ts";
import type { Guard } from "../processes/guard.ts";
import { DETACHED, killTree } from "../processes/processes.ts";
import { NOTE_BUNDLES } from "./bundle-note.ts";

const PRELOAD = join(import.meta.dirname, `inputs-preload${extname(import.meta.filename)}`);
/** A changed type may break many files. */
const MOST_ERRORS = 20;

type Options = {
  readonly guard: Guard;
  /** Ends the app and every process that the app has started. */
  readonly signal: AbortSignal;
  /** Each Node process of the app appends the paths of the files that it imports or reads to this file. */
  readonly inputsFile: string;
  /** The files that the user has saved since the last run. Their errors come first. */
  readonly saved: ReadonlySet<string>;
};

/**
 * Runs an app as the CDK's command line does: https://docs.aws.amazon.com/cdk/v2/guide/apps.html. Default command: that in `cdk.json`.
 * Throws `LocalError` if the app fails, and the signal's reason if the signal aborts.
 */
export async function runCdkApp(
  root: string,
  command: string | undefined,
  outdir: string,
  { guard, signal, inputsFile, saved }: Options,
): Promise<void> {
  const { app, context } = readSettings(root, command);
  const bins = [dirname(process.execPath), join(root, "node_modules", ".bin")].join(delimiter);
  const { CDK_DEFAULT_ACCOUNT: _account, CDK_DEFAULT_REGION: _region, ...inherited } = process.env;
  const child = spawn(app, {
    cwd: root,
    shell: true,
    // The shell passes no signal on to the app. So the shell and the app get a process group, and one signal to the group ends both.
    ...DETACHED,
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      // The CDK's check of the template takes most of the time of a synthesis. Its findings are shown by `cdk synth`, and never here.
      CDK_VALIDATION: "false",
      ...inherited,
      PATH: `${bins}${delimiter}${process.env.PATH ?? ""}`,
      NODE_OPTIONS: [inherited.NODE_OPTIONS, `--import=${pathToFileURL(PRELOAD).href}`]
        .filter(Boolean)
        .join(" "),
      MINUTEHAND_INPUTS_FILE: inputsFile,
      [NOTE_BUNDLES]: "true",
      CDK_OUTDIR: outdir,
      CDK_CONTEXT_JSON: JSON.stringify(context),
    },
  });
  guard.watchGroup(child);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (data: Buffer) => (output += data));
  const how = await waitForEnd(child, signal);
  if (how !== 0)
    throw new LocalError(
      `synthesising failed: \`${app}\` ended with ${how}: ${typeErrorsIn(output, root, saved) ?? failureIn(output)}`,
    );
  if (!existsSync(join(outdir, "manifest.json")))
    throw new LocalError(`synthesising failed: \`${app}\` wrote no manifest.json into CDK_OUTDIR`);
}

async function waitForEnd(child: ChildProcess, signal: AbortSignal): Promise<number | string | null> {
  const { promise, resolve, reject } = Promise.withResolvers<number | string | null>();
  const stop = () => {
    if (child.exitCode !== null || child.signalCode !== null) reject(signal.reason);
    if (child.pid !== undefined) killTree(child.pid);
  };
  child.once("error", reject);
  child.once("close", (code, by) => resolve(code ?? by));
  // Do not wait for `close` after an abort: it never comes if a process that has left the group keeps the app's output open.
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

/** Throws `LocalError` if nothing names the app's command, or if `cdk.json` or `cdk.context.json` is not JSON. */
export function checkSettings(root: string, command: string | undefined): void {
  readSettings(root, command);
}

function readSettings(
  root: string,
  command: string | undefined,
): { app: string; context: Record<string, unknown> } {
  const path = join(root, "cdk.json");
  if (command === undefined && !existsSync(path))
    throw new LocalError(
      `there is neither cdk.json nor minutehand.json in ${root}: "npx minutehand init" writes an app of the CDK, "npx minutehand init --template" a minutehand.json; or name the app with --app, such as --app "node app.ts"`,
    );
  const { app = command, context = {} } = readJson(path);
  if (typeof app !== "string") throw new LocalError(`${path} must name the app's command as "app"`);
  return { app: command ?? app, context: { ...context, ...readJson(join(root, "cdk.context.json")) } };
}

function readJson(path: string): { app?: unknown; context?: Record<string, unknown> } {
  if (!existsSync(path)) return {};
  try {
    return JSON.parse(readText(path));
  } catch (error) {
    throw new LocalError(`${path} must be JSON: ${errorText(error)}`);
  }
}

/** Answers the type errors of a compiler that is part of the app's command, or `undefined` if there are none. Several get a line each. */
function typeErrorsIn(output: string, root: string, saved: ReadonlySet<string>): string | undefined {
  const errors = stripVTControlCharacters(output)
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => /^(\S.*(:| -) )?error TS\d+:/.test(line));
  const [only] = errors;
  if (errors.length < 2) return only;
  const isSaved = (line: string) => saved.has(resolve(root, line.replace(/[(:]\d+[,:]\d+.*/, "")));
  const ordered = [...errors.filter(isSaved), ...errors.filter((line) => !isSaved(line))];
  const more = errors.length - MOST_ERRORS;
  return [
    `${errors.length} type errors`,
    ...ordered.slice(0, MOST_ERRORS).map((line) => `  ${line}`),
    ...(more > 0 ? [`  and ${more} more`] : []),
  ].join("\n");
}

/** Finds the line that names the failure among stack traces and quoted source. If it has several reasons, each gets a line. */
function failureIn(output: string): string {
  if (/Cannot use import statement outside a module/.test(output))
    return 'the app is an ES module, and package.json says that .ts files are CommonJS: run "npm pkg set type=module"';
  const lines = output.split("\n").filter((line) => line.trim() !== "");
  const telling = lines.findIndex((line) => /^\s*(\S*Error\b|✘|.*\berror:)/i.test(line));
  const [first = "it printed nothing", ...others] = lines.slice(Math.max(telling, 0));
  const reasons = first.trimEnd().endsWith(":") ? reasonsIn(others).map((line) => line.trim()) : [];
  return [first.trim(), ...reasons].join(reasons.length > 1 ? "\n  " : " ");
}

/** Answers the lines before the stack trace. Without one: the indented lines, or else the first line. */
function reasonsIn(lines: readonly string[]): readonly string[] {
  const stack = lines.findIndex((line) => line.trim().startsWith("at "));
  if (stack >= 0) return lines.slice(0, stack);
  const next = lines.findIndex((line) => !/^\s/.test(line));
  return next < 0 ? lines : lines.slice(0, Math.max(next, 1));
}
