import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Guard } from "../processes/guard.ts";
import { type AppFolder, hashFolder } from "./app-folder.ts";
import { readImports } from "./app-imports.ts";
import { createAssemblyHolder, dropUnusedAssemblies, markUsed } from "./assembly-cache.ts";
import { bundledFiles } from "./bundle-note.ts";
import { runCdkApp } from "./cdk-app.ts";
import { readInputs, writeInputs } from "./inputs.ts";

export type Synthesis = {
  /**
   * Runs the app of a `cdk.json` only if a file of its folder, or one that it imports or bundles, has changed. Runs a given command each
   * time: it may read other files. Throws `LocalError` if the app fails, the signal's reason if it aborts.
   */
  readonly run: (progress: (line: string) => void) => Promise<string>;
  /** Names a new folder for code that the runner bundles. Give the folder to `hold` too. `stop` deletes the folder. */
  readonly newFolder: () => string;
  /** Keeps the assemblies that contain these folders from being deleted, and releases all others. */
  readonly hold: (codeDirs: readonly string[]) => void;
  readonly stop: () => Promise<void>;
};

type Options = {
  readonly appFolder: AppFolder;
  readonly app: string | undefined;
  readonly guard: Guard;
  readonly signal?: AbortSignal | undefined;
};

export function createSynthesis({ signal, ...options }: Options): Synthesis {
  const cacheDir = join(options.appFolder.root, ".minutehand", "synthesised");
  const holder = createAssemblyHolder(cacheDir, process.pid);
  const stopping = new AbortController();
  const ending = AbortSignal.any([stopping.signal, ...(signal ? [signal] : [])]);
  const rebuilt = `rebuilt.${process.pid}.${process.hrtime.bigint()}.`;
  let folders = 0;
  let running: Promise<string> | undefined;
  return {
    run: (progress) => {
      running = synthesise({ ...options, signal: ending, cacheDir, progress });
      return running;
    },
    newFolder: () => join(cacheDir, `${rebuilt}${++folders}`),
    hold: holder.hold,
    stop: async () => {
      stopping.abort();
      await running?.catch(() => {});
      holder.release();
      for (const name of readdirSync(cacheDir).filter((name) => name.startsWith(rebuilt)))
        rmSync(join(cacheDir, name), { recursive: true, force: true });
    },
  };
}

type Run = Pick<Options, "appFolder" | "app" | "guard"> & {
  readonly signal: AbortSignal;
  readonly cacheDir: string;
  readonly progress: (line: string) => void;
};

async function synthesise(run: Run): Promise<string> {
  const { appFolder, app, cacheDir } = run;
  const startedAt = Date.now();
  const inputHash = app === undefined ? hashFolder(appFolder) : undefined;
  const cached = inputHash === undefined ? undefined : findCached(cacheDir, inputHash);
  const assembly = cached ?? (await runApp(run, inputHash, startedAt));
  markUsed(assembly);
  dropUnusedAssemblies(cacheDir, Date.now());
  return assembly;
}

async function runApp(run: Run, inputHash: string | undefined, startedAt: number): Promise<string> {
  const { appFolder, app, guard, signal, cacheDir } = run;
  run.progress("Building the functions and synthesising the stack …");
  // The app writes into a draft. A complete draft is renamed, so no crash and no other runner leaves half an assembly.
  const draft = join(cacheDir, `draft.${process.pid}.${process.hrtime.bigint()}`);
  const importsFile = `${draft}.imports`;
  try {
    mkdirSync(draft, { recursive: true });
    await runCdkApp(appFolder.root, app, draft, { guard, signal, importsFile });
    const [imports, bundled] = [readImports(importsFile), bundledFiles(draft)];
    const elsewhere = writeInputs(draft, appFolder, { imports, bundled, startedAt });
    // A file saved while the app ran may be in the assembly, even if the save was undone. Such an assembly does not belong to the hash.
    const isOfInputs = elsewhere !== undefined && inputHash === hashFolder(appFolder);
    const assembly = join(cacheDir, isOfInputs ? `${inputHash}.${elsewhere}` : hashFolder({ root: draft }));
    moveInto(draft, assembly);
    return assembly;
  } finally {
    rmSync(draft, { recursive: true, force: true });
    rmSync(importsFile, { force: true });
  }
}

/** Finds the assembly of the app's files with this hash, whose files elsewhere have not changed either. */
function findCached(cacheDir: string, inputHash: string): string | undefined {
  return readdirSync(cacheDir)
    .filter((name) => name.startsWith(`${inputHash}.`))
    .map((name) => join(cacheDir, name))
    .find((folder) => isAssembly(folder) && readInputs(folder)?.isCurrent);
}

function moveInto(draft: string, assembly: string): void {
  try {
    renameSync(draft, assembly);
  } catch (error) {
    // If the assembly exists, another runner was faster with the same inputs. Use its assembly.
    if (!isAssembly(assembly)) throw error;
  }
}

function isAssembly(folder: string): boolean {
  return existsSync(join(folder, "manifest.json"));
}
