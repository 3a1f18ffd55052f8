import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join, sep } from "node:path";
import { makePrivateFolder } from "../private-files.ts";
import type { Guard } from "../processes/guard.ts";
import { isProcessRunning } from "../processes/processes.ts";
import { runCdkApp } from "./cdk-app.ts";

/** No invocation takes as long, so none still runs from code that was replaced before. */
const UNUSED_AFTER_MS = 3_600_000;
const SETTINGS = ["cdk.json", "cdk.context.json", "tsconfig.json"];

export type Synthesis = {
  /**
   * Answers the folder of the assembly. Throws `LocalError` if the app fails, the signal's reason if it aborts.
   * @param saved the files that the user has saved since the last run
   */
  readonly run: (saved?: ReadonlySet<string>) => Promise<string>;
  /** Lists the files that the last run has imported or read, also if it failed. Files of handlers are not among them. */
  readonly inputs: () => readonly string[];
  /** Names a new folder for code that the runner bundles. `stop` deletes it. */
  readonly newFolder: () => string;
  /** Deletes the code that has been unused for an hour. `codeDirs`: the folders of the code that runs. `now`: ms since the epoch. */
  readonly dropUnused: (codeDirs: readonly string[], now: number) => void;
  readonly stop: () => Promise<void>;
};

type Options = {
  readonly root: string;
  readonly app: string | undefined;
  readonly guard: Guard;
  readonly signal?: AbortSignal | undefined;
};

/** Each runner has a folder of its own for its assemblies. */
export function createSynthesis({ root, app, guard, signal: given }: Options): Synthesis {
  const all = join(root, ".minutehand", "synthesised");
  // An assembly has the code and the settings of the app.
  makePrivateFolder(all);
  dropOfDeadRunners(all);
  const own = join(all, `${process.pid}.${process.hrtime.bigint()}`);
  const stopping = new AbortController();
  const signal = AbortSignal.any([stopping.signal, ...(given ? [given] : [])]);
  let folders = 0;
  const newFolder = () => join(own, String(++folders));
  let inputsFile = "";
  let running: Promise<string> | undefined;
  const run = async (saved: ReadonlySet<string> = new Set()) => {
    const assembly = newFolder();
    inputsFile = `${assembly}.inputs`;
    mkdirSync(assembly, { recursive: true });
    await runCdkApp(root, app, assembly, { guard, signal, inputsFile, saved });
    return assembly;
  };
  return {
    run: (saved) => (running = run(saved)),
    inputs: () => {
      const found = existsSync(inputsFile) ? readFileSync(inputsFile, "utf8").split("\n") : [];
      return [...new Set([...SETTINGS.map((name) => join(root, name)), ...found.filter(Boolean)])];
    },
    newFolder,
    dropUnused: dropUnusedIn(own),
    stop: async () => {
      stopping.abort();
      await running?.catch(() => {});
      rmSync(own, { recursive: true, force: true });
    },
  };
}

/** Also deletes what an earlier version has kept there. */
function dropOfDeadRunners(all: string): void {
  for (const name of readdirSync(all))
    if (!isProcessRunning(Number(name.split(".")[0])))
      rmSync(join(all, name), { recursive: true, force: true, maxRetries: 3 });
}

/** Answers a function that deletes the folders in `own` that have had no running code for an hour. */
function dropUnusedIn(own: string): (codeDirs: readonly string[], now: number) => void {
  const unusedSince = new Map<string, number>();
  return (codeDirs, now) => {
    for (const name of readdirSync(own)) {
      const path = join(own, name);
      const isUsed = codeDirs.some((dir) => `${dir}${sep}`.startsWith(`${path}${sep}`));
      const since = isUsed ? now : (unusedSince.get(path) ?? now);
      unusedSince.set(path, since);
      if (now - since > UNUSED_AFTER_MS) rmSync(path, { recursive: true, force: true });
    }
  };
}
