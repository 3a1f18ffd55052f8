import { relative } from "node:path";
import { errorCode, errorText, LocalError } from "../local-error.ts";
import type { FunctionSpec, StackSpec } from "../template/resources.ts";
import { createReloadLog, type ReloadLog } from "./reload-log.ts";
import {
  applySynthesis,
  inputsOf,
  type Running,
  type RunningOptions,
  reloadChanged,
  type Synthesised,
} from "./running-stack.ts";

type ReloadOptions = RunningOptions & {
  readonly root: string;
  readonly synthesise: () => Promise<Synthesised>;
  readonly onReloaded?: (stack: StackSpec) => void;
  /** ms. */
  readonly clock?: () => number;
};

type Reloader = Required<ReloadOptions> & {
  readonly running: Running;
  readonly say: ReloadLog;
  readonly unsynthesised: Set<string>;
  /** The files that were found changed before the watch reported them. A later report of the same change is ignored. */
  readonly early: Set<string>;
  readonly inTurn: <T>(act: () => Promise<T>) => Promise<T>;
};

const NO_PATHS: ReadonlySet<string> = new Set();

/**
 * Call the result after each save, with the saved paths. It bundles handlers again that contain one, and synthesises after a save of any
 * other file. If the app itself writes files during a synthesis, one more follows: with other content each time, it never ends.
 */
export function createReloader(
  started: Synthesised,
  options: ReloadOptions,
): (saved?: ReadonlySet<string>) => Promise<void> {
  const { files, log, root, clock = Date.now, onReloaded = () => {} } = options;
  files.addInputs(inputsOf(started.stack));
  const reloader: Reloader = {
    ...options,
    clock,
    onReloaded,
    running: { ...started, options, failures: new Map() },
    say: createReloadLog(log, root, clock),
    unsynthesised: new Set(),
    early: new Set(),
    inTurn: takingTurns(),
  };
  let synthesising: Promise<void> | undefined;
  return async function reloadAfterSave(saved = NO_PATHS): Promise<void> {
    try {
      await reloader.inTurn(() => reloadHandlers(reloader, saved));
      // An earlier call may have left its loop just before this save. Then it does not synthesise the save, so this call does.
      while (reloader.unsynthesised.size > 0 || synthesising !== undefined) {
        synthesising ??= synthesiseSaved(reloader).finally(() => (synthesising = undefined));
        await synthesising;
      }
    } catch (error) {
      log(`nothing is reloaded until the next save: ${errorText(error)}`);
    }
  };
}

function takingTurns(): Reloader["inTurn"] {
  let turn: Promise<unknown> = Promise.resolve();
  return (act) => {
    const acted = turn.then(act);
    turn = acted.catch(() => {});
    return acted;
  };
}

async function reloadHandlers(reloader: Reloader, saved: ReadonlySet<string>): Promise<void> {
  const { running, files, early, unsynthesised, say, clock, onReloaded } = reloader;
  const news = [...saved].filter((path) => !early.delete(path));
  let reported = saved;
  let changes = files.changes();
  if (changes.size === 0) say.unchanged(knownOf(reloader, news));
  for (; changes.size > 0; changes = files.changes()) {
    const began = clock();
    for (const path of changes.keys()) if (!reported.has(path)) early.add(path);
    // A further change of the same file was saved after this report, so the watch reports it too.
    reported = NO_PATHS;
    const before = inputsOf(running.stack);
    const failed = running.failures.size;
    const reloaded = await reloadChanged(running, changes);
    const needSynthesis = [...changes.keys()].filter((path) => isOfApp(reloader, path, before));
    for (const path of needSynthesis) unsynthesised.add(path);
    if (reloaded.length > 0) {
      say.reloaded(reloaded, running.stack, began);
      onReloaded(running.stack);
    } else if (needSynthesis.length === 0 && failed + running.failures.size === 0)
      say.unchanged(knownOf(reloader, [...changes.keys()]));
  }
}

function knownOf({ files, running }: Reloader, paths: readonly string[]): string[] {
  const inputs = inputsOf(running.stack);
  return paths.filter((path) => files.has(path) || inputs.has(path));
}

/**
 * A file in no bundle needs one if it is in the app's folder or the app imports it. A bundled file needs one if the app imports it, if
 * the app's imports are unknown, or if a function has no note of its bundle.
 */
function isOfApp({ running, root }: Reloader, path: string, before: ReadonlySet<string>): boolean {
  const { stack, imports } = running;
  const isInFolder = (file: string) => !relative(root, file).startsWith("..");
  const isInput = before.has(path) || inputsOf(stack).has(path);
  if (!isInput) return isInFolder(path) || imports.has(path);
  const knowsImports = [...imports].some(isInFolder);
  return !knowsImports || imports.has(path) || stack.functions.some(({ bundle }) => bundle === undefined);
}

async function synthesiseSaved(reloader: Reloader): Promise<void> {
  const { running, unsynthesised, say, clock, inTurn } = reloader;
  // Log before the loop, not in it: the log may be a file of the folder, so each line may be a save.
  say.synthesising([...unsynthesised]);
  const began = clock();
  const reloaded = new Map<string, FunctionSpec>();
  let succeeded = true;
  while (unsynthesised.size > 0) {
    unsynthesised.clear();
    const changed = await synthesiseOnce(reloader);
    succeeded = changed !== undefined;
    for (const spec of changed ?? []) reloaded.set(spec.arn, spec);
    await inTurn(() => reloadHandlers(reloader, NO_PATHS));
  }
  if (!succeeded) return;
  say.synthesised([...reloaded.values()], running.stack, began);
  reloader.onReloaded(running.stack);
}

/** Answers the replaced functions; `undefined` if the app fails. */
async function synthesiseOnce(reloader: Reloader): Promise<readonly FunctionSpec[] | undefined> {
  const { running, synthesise, say, inTurn } = reloader;
  try {
    const before = running.stack;
    const next = await synthesise();
    const changed = await inTurn(async () => {
      const { functions, needRestart } = await applySynthesis(running, before, next);
      say.needRestart(needRestart);
      return functions;
    });
    say.appFailure(undefined);
    return changed;
  } catch (error) {
    // The runner is stopping and has ended the app.
    if (errorCode(error) === "AbortError") return undefined;
    // An app in the middle of an edit can fail in any way.
    say.appFailure(error instanceof LocalError ? error.message : `reloading failed: ${errorText(error)}`);
    return undefined;
  }
}
