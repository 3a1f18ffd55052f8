import { errorCode, errorText, LocalError } from "../local-error.ts";
import type { FunctionSpec, StackSpec } from "../template/resources.ts";
import { createReloadLog, type ReloadLog } from "./reload-log.ts";
import {
  applySynthesis,
  handlersWith,
  isOfApp,
  isUsed,
  lookAgain,
  noteAppFailure,
  type Running,
  type RunningOptions,
  rebuildHandlers,
  type Synthesised,
  startRunning,
} from "./running-stack.ts";

type ReloadOptions = RunningOptions & {
  /** `saved`: the files whose save is the reason. */
  readonly synthesise: (saved: ReadonlySet<string>) => Promise<StackSpec>;
  /** Lists the inputs of the last run of the app, also if it failed. */
  readonly appInputs: () => readonly string[];
  readonly onReloaded?: (stack: StackSpec) => void;
};

type Reloader = Required<ReloadOptions> & {
  readonly running: Running;
  readonly say: ReloadLog;
  readonly unsynthesised: Set<string>;
  readonly inTurn: <T>(act: () => Promise<T>) => Promise<T>;
};

export type Reload = {
  readonly reloadAfterSave: () => Promise<void>;
  /** Whether a function or the app contains the file. */
  readonly isUsed: (path: string) => boolean;
};

/**
 * Call `reloadAfterSave` after each save. It bundles handlers again that contain the saved file, and synthesises after a save of a file that the
 * app imports or reads. If the app itself writes such a file with other content at each synthesis, it never ends.
 */
export function createReloader(started: Synthesised, options: ReloadOptions): Reload {
  const { log, root, clock, onReloaded = () => {} } = options;
  const reloader: Reloader = {
    ...options,
    onReloaded,
    running: startRunning(started, options),
    say: createReloadLog(log, root, clock),
    unsynthesised: new Set(),
    inTurn: takingTurns(),
  };
  let synthesising: Promise<void> | undefined;
  const reloadAfterSave = async (): Promise<void> => {
    try {
      await reloader.inTurn(() => reloadHandlers(reloader));
      // An earlier call may have left its loop just before this save. Then it does not synthesise the save, so this call does.
      while (reloader.unsynthesised.size > 0 || synthesising !== undefined) {
        synthesising ??= synthesiseSaved(reloader).finally(() => (synthesising = undefined));
        await synthesising;
      }
    } catch (error) {
      log(`nothing is reloaded until the next save: ${errorText(error)}`);
    }
  };
  return { reloadAfterSave, isUsed: (path) => isUsed(reloader.running, path) };
}

function takingTurns(): Reloader["inTurn"] {
  let turn: Promise<unknown> = Promise.resolve();
  return (act) => {
    const acted = turn.then(act);
    turn = acted.catch(() => {});
    return acted;
  };
}

async function reloadHandlers(reloader: Reloader): Promise<void> {
  const { running, unsynthesised, say, clock, onReloaded } = reloader;
  let { changed, touched } = lookAgain(running);
  if (changed.length === 0) say.unchanged(touched);
  do {
    const began = clock();
    const failed = running.failures.size;
    const reloaded = await rebuildHandlers(running, handlersWith(running, changed));
    const ofApp = changed.filter((path) => isOfApp(running, path));
    for (const path of ofApp) unsynthesised.add(path);
    if (reloaded.length > 0) {
      say.reloaded(reloaded, running.stack, began);
      onReloaded(running.stack);
    } else if (ofApp.length === 0 && failed + running.failures.size === 0) say.unchanged(changed);
    changed = lookAgain(running).changed;
  } while (changed.length > 0);
}

async function synthesiseSaved(reloader: Reloader): Promise<void> {
  const { running, unsynthesised, say, clock, inTurn } = reloader;
  say.synthesising([...unsynthesised]);
  const began = clock();
  const reloaded = new Map<string, FunctionSpec>();
  while (unsynthesised.size > 0) {
    const saved = new Set(unsynthesised);
    unsynthesised.clear();
    for (const spec of await synthesiseOnce(reloader, saved)) reloaded.set(spec.arn, spec);
    await inTurn(() => reloadHandlers(reloader));
  }
  if (running.appFails) return;
  say.synthesised([...reloaded.values()], running.stack, began);
  reloader.onReloaded(running.stack);
}

/** Answers the replaced functions. */
async function synthesiseOnce(
  reloader: Reloader,
  saved: ReadonlySet<string>,
): Promise<readonly FunctionSpec[]> {
  const { running, synthesise, appInputs, say, inTurn, clock } = reloader;
  const before = running.stack;
  const began = clock();
  try {
    const stack = await synthesise(saved);
    const { functions, needRestart } = await inTurn(() =>
      applySynthesis(running, before, { stack, inputs: appInputs(), began }),
    );
    say.needRestart(needRestart);
    say.appFailure(undefined);
    running.appFails = false;
    return functions;
  } catch (error) {
    running.appFails = true;
    // The runner is stopping and has ended the app.
    if (errorCode(error) === "AbortError") return [];
    // An app in the middle of an edit can fail in any way.
    say.appFailure(error instanceof LocalError ? error.message : `reloading failed: ${errorText(error)}`);
    noteAppFailure(running, { inputs: appInputs(), began });
    return [];
  }
}
