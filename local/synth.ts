import { spawn } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
} from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { hashInputs } from "./input-hash.ts";
import { LocalError } from "./local-error.ts";

const UNUSED_AFTER_MS = 7 * 86_400_000;

type Project = {
  readonly root: string;
  readonly cacheDir: string;
  readonly progress: (line: string) => void;
};

/** The folder of the synthesised app; the app runs only if what it is made of has changed. */
export async function synthesise({ root, cacheDir, progress }: Project): Promise<string> {
  const outdir = join(cacheDir, hashInputs(root));
  if (!existsSync(join(outdir, "manifest.json"))) {
    progress("Building the functions and synthesising the stack …");
    // Renamed into place when complete, so that a crash or a second runner never meets half of it.
    const draft = `${outdir}.${process.pid}.${process.hrtime.bigint()}`;
    try {
      mkdirSync(draft, { recursive: true });
      await runApp(root, draft);
      moveInto(draft, outdir);
    } finally {
      rmSync(draft, { recursive: true, force: true });
    }
  }
  const now = new Date();
  utimesSync(outdir, now, now);
  dropUnused(cacheDir, now.getTime());
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

function dropUnused(cacheDir: string, now: number): void {
  for (const name of readdirSync(cacheDir)) {
    const path = join(cacheDir, name);
    const stat = statSync(path, { throwIfNoEntry: false });
    if (stat && now - stat.mtimeMs > UNUSED_AFTER_MS) rmSync(path, { recursive: true, force: true });
  }
}

/** Runs the app as the CDK's command line does: https://docs.aws.amazon.com/cdk/v2/guide/apps.html */
async function runApp(root: string, outdir: string): Promise<void> {
  const { app, context } = readCdkJson(root);
  const bins = [dirname(process.execPath), join(root, "node_modules", ".bin")].join(delimiter);
  const { CDK_DEFAULT_ACCOUNT: _account, CDK_DEFAULT_REGION: _region, ...inherited } = process.env;
  const child = spawn(app, {
    cwd: root,
    shell: true,
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      ...inherited,
      PATH: `${bins}${delimiter}${process.env.PATH ?? ""}`,
      CDK_OUTDIR: outdir,
      CDK_CONTEXT_JSON: JSON.stringify(context),
    },
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (data: Buffer) => (output += data));
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  if (code !== 0)
    throw new LocalError(`synthesising failed: \`${app}\` ended with ${code}: ${reasonIn(output)}`);
  if (!existsSync(join(outdir, "manifest.json")))
    throw new LocalError(`synthesising failed: \`${app}\` wrote no manifest.json into CDK_OUTDIR`);
}

function readCdkJson(root: string): { app: string; context: Record<string, unknown> } {
  const path = join(root, "cdk.json");
  if (!existsSync(path)) throw new LocalError(`there is no ${path}; it names the app to synthesise`);
  const { app, context = {} } = JSON.parse(readFileSync(path, "utf8"));
  if (typeof app !== "string") throw new LocalError(`${path} must name the app's command as "app"`);
  const looked = join(root, "cdk.context.json");
  return {
    app,
    context: { ...context, ...(existsSync(looked) ? JSON.parse(readFileSync(looked, "utf8")) : {}) },
  };
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
