import { availableParallelism } from "node:os";
import { basename, relative } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { BuildOptions } from "esbuild";
import { inParallel } from "../general/batches.ts";
import { isOfPackages } from "../general/package-files.ts";
import { displayName } from "./display-name.ts";
import { errorCode, errorText, LocalError } from "./local-error.ts";
import type { Rebuilt } from "./rebuild.ts";
import type { FunctionSpec, QueueSpec, StackSpec } from "./resources.ts";
import type { Change, SavedFiles } from "./saved-files.ts";

/** A synthesised stack, and the files of the developer that the app has imported. */
export type Synthesised = { readonly stack: StackSpec; readonly imports: ReadonlySet<string> };

type ReloadOptions = {
  readonly files: SavedFiles;
  /** The folder of the app. Paths in the log are relative to it. */
  readonly root: string;
  readonly synthesise: () => Promise<Synthesised>;
  /** Bundles the handler of a function with the options of its note. */
  readonly rebuild: (spec: FunctionSpec, build: BuildOptions) => Promise<Rebuilt>;
  /** Throws `LocalError` if SQS rejects a queue. */
  readonly createQueues: (queues: readonly QueueSpec[]) => Promise<void>;
  /** Later invocations of these functions run the new code. */
  readonly replaceFunctions: (specs: readonly FunctionSpec[]) => void;
  /** Called after each reload. */
  readonly onReloaded?: (stack: StackSpec) => void;
  readonly log: (line: string) => void;
  /** ms. */
  readonly clock?: () => number;
};

const NO_PATHS: ReadonlySet<string> = new Set();

/**
 * Makes the function to call after each save, with the paths that were saved. It bundles the handlers again that contain a saved file,
 * and replaces those whose bundle has changed. After a save of any other file it synthesises the app, and replaces the changed
 * functions. If the app itself writes files during a synthesis, one more synthesis follows. If the content of these files differs each
 * time, the function never ends.
 */
export function createReloader(
  started: Synthesised,
  options: ReloadOptions,
): (saved?: ReadonlySet<string>) => Promise<void> {
  const { files, root, synthesise, rebuild, createQueues, replaceFunctions, log } = options;
  const { clock = Date.now, onReloaded = () => {} } = options;
  let running = started.stack;
  let imports = started.imports;
  let loggedRestart = "";
  let loggedFailure = "";
  let loggedUnchanged = "";
  /** What is wrong with the handlers that could not be bundled, by the ARNs of their functions. */
  const failures = new Map<string, string>();
  /** The files whose save needs a synthesis. */
  const unsynthesised = new Set<string>();
  /** The files that were found changed before the watch reported them. A later report of the same change is ignored. */
  const early = new Set<string>();
  let synthesising: Promise<void> | undefined;
  let turn: Promise<unknown> = Promise.resolve();
  files.addInputs(inputsOf(running));

  /** Functions are replaced by one call at a time. */
  function inTurn<T>(act: () => Promise<T>): Promise<T> {
    const acted = turn.then(act);
    turn = acted.catch(() => {});
    return acted;
  }

  return async function reloadAfterSave(saved = NO_PATHS): Promise<void> {
    try {
      await inTurn(() => reloadHandlers(saved));
      // An earlier call may have left its loop just before this save. Then it does not synthesise the save, so this call does.
      while (unsynthesised.size > 0 || synthesising !== undefined) {
        synthesising ??= synthesiseSaved().finally(() => (synthesising = undefined));
        await synthesising;
      }
    } catch (error) {
      log(`nothing is reloaded until the next save: ${errorText(error)}`);
    }
  };

  async function reloadHandlers(saved: ReadonlySet<string>): Promise<void> {
    const news = [...saved].filter((path) => !early.delete(path));
    let reported = saved;
    let changes = files.changes();
    if (changes.size === 0) logUnchanged(news);
    for (; changes.size > 0; changes = files.changes()) {
      const began = clock();
      for (const path of changes.keys()) if (!reported.has(path)) early.add(path);
      // A further change of the same file was saved after this report, so the watch reports it too.
      reported = NO_PATHS;
      const before = inputsOf(running);
      const failed = failures.size;
      const handlers = handlersWith(changes);
      const reloaded = await rebuildAll(handlers);
      const needSynthesis = [...changes.keys()].filter((path) => isOfApp(path, before));
      for (const path of needSynthesis) unsynthesised.add(path);
      if (reloaded.length > 0) {
        log(`reloaded ${namesOf(reloaded)} ${since(began)}`);
        loggedUnchanged = "";
        onReloaded(running);
      } else if (needSynthesis.length === 0 && failed + failures.size === 0)
        logUnchanged([...changes.keys()]);
    }
  }

  /** Says once that a save has changed nothing. */
  function logUnchanged(saved: readonly string[]): void {
    const paths = saved.filter((path) => files.has(path) || inputsOf(running).has(path));
    const line = `saved ${pathsOf(paths)}: nothing has changed`;
    if (paths.length > 0 && line !== loggedUnchanged) log(line);
    if (paths.length > 0) loggedUnchanged = line;
  }

  /** A new or deleted file, or an install, may change what an import resolves to, so it concerns every handler. */
  function handlersWith(changes: ReadonlyMap<string, Change>): FunctionSpec[] {
    const isStructural = [...changes].some(([path, change]) => change !== "saved" || isOfPackages(path));
    const isConcerned = ({ arn, bundle }: FunctionSpec) =>
      failures.has(arn) || (bundle?.inputs.some((path) => changes.has(path)) ?? false);
    // The developer waits for these handlers, so they come first.
    const others = isStructural ? running.functions.filter((spec) => !isConcerned(spec)) : [];
    return [...running.functions.filter(isConcerned), ...others].filter(({ bundle }) => bundle?.build);
  }

  /** Answers the functions whose code has changed. */
  async function rebuildAll(specs: readonly FunctionSpec[]): Promise<FunctionSpec[]> {
    const changed: FunctionSpec[] = [];
    const replaceRebuilt = async (spec: FunctionSpec) => {
      const result = await bundleAgain(spec);
      if ("failure" in result) {
        logFailure(spec, result.failure);
        return;
      }
      logFailure(spec, undefined);
      // The inputs may have changed even if the code has not.
      replaceRunning([result.spec]);
      if (isSameFunction(spec, result.spec)) return;
      replaceFunctions([result.spec]);
      changed.push(result.spec);
    };
    await inParallel(specs, availableParallelism(), replaceRebuilt);
    return changed;
  }

  async function bundleAgain(spec: FunctionSpec): Promise<Rebuilt> {
    if (!spec.bundle?.build) return { spec };
    const result = await rebuild(spec, spec.bundle.build);
    // The files at fault may not be inputs of any bundle yet. They are watched, so that a save that repairs them is noticed.
    if ("failure" in result) files.addInputs(result.inputs);
    return result;
  }

  function replaceRunning(specs: readonly FunctionSpec[]): void {
    running = {
      ...running,
      functions: running.functions.map((spec) => specs.find(({ arn }) => arn === spec.arn) ?? spec),
    };
    files.addInputs(inputsOf(running));
  }

  function logFailure(spec: FunctionSpec, failure: string | undefined): void {
    const before = failures.get(spec.arn);
    if (failure === before) return;
    const name = displayName(spec, running);
    if (failure === undefined) {
      failures.delete(spec.arn);
      log(`${name} works again`);
      return;
    }
    failures.set(spec.arn, failure);
    log(`${failure}; the old ${name} stays in use`);
  }

  /**
   * Whether a changed file needs a synthesis. A file in no bundle needs one if it lies in the app's folder or if the app imports it. A
   * bundled file needs one if the app imports it, if the app's imports are unknown, or if a function has no note of its bundle.
   */
  function isOfApp(path: string, before: ReadonlySet<string>): boolean {
    const isInput = before.has(path) || inputsOf(running).has(path);
    if (!isInput) return isInFolder(path) || imports.has(path);
    const knowsImports = [...imports].some(isInFolder);
    return !knowsImports || imports.has(path) || running.functions.some(({ bundle }) => bundle === undefined);
  }

  function isInFolder(path: string): boolean {
    return !relative(root, path).startsWith("..");
  }

  async function synthesiseSaved(): Promise<void> {
    // Log before the loop, not in it: the log may be a file of the folder, so each line may be a save.
    log(`saved ${pathsOf([...unsynthesised])}: synthesising …`);
    loggedUnchanged = "";
    const began = clock();
    const reloaded = new Map<string, FunctionSpec>();
    let succeeded = true;
    while (unsynthesised.size > 0) {
      unsynthesised.clear();
      const changed = await synthesiseOnce();
      succeeded = changed !== undefined;
      for (const spec of changed ?? []) reloaded.set(spec.arn, spec);
      await inTurn(() => reloadHandlers(NO_PATHS));
    }
    if (!succeeded) return;
    const names = namesOf([...reloaded.values()]);
    log(`synthesised ${since(began)}: ${names === "" ? "no function has changed" : `reloaded ${names}`}`);
    onReloaded(running);
  }

  /** Answers the replaced functions; `undefined` if the app fails. */
  async function synthesiseOnce(): Promise<readonly FunctionSpec[] | undefined> {
    try {
      const before = running;
      const next = await synthesise();
      const changed = await inTurn(() => applyChanges(before, next));
      if (loggedFailure !== "") log("the app synthesises again");
      loggedFailure = "";
      return changed;
    } catch (error) {
      // The runner is stopping and has ended the app.
      if (errorCode(error) === "AbortError") return undefined;
      // An app in the middle of an edit can fail in any way.
      const failure = error instanceof LocalError ? error.message : `reloading failed: ${errorText(error)}`;
      log(
        `${failure === loggedFailure ? "the app fails as before" : failure}; the old functions stay in use`,
      );
      loggedFailure = failure;
      return undefined;
    }
  }

  async function applyChanges(
    before: StackSpec,
    { stack, imports: nextImports }: Synthesised,
  ): Promise<readonly FunctionSpec[]> {
    const next = await withLaterCode(before, stack);
    const { functions, needRestart } = compareStacks(running, next);
    // New functions may send to a new topic's queue at once. The queue's consumer starts only after a restart.
    const known = new Set(running.queues.map(({ name }) => name));
    await createQueues(next.queues.filter(({ name }) => !known.has(name)));
    replaceFunctions(functions);
    replaceRunning(next.functions.map((spec) => (functions.includes(spec) ? spec : keepCode(spec))));
    running = { ...running, warnings: next.warnings };
    imports = nextImports;
    for (const arn of [...failures.keys()]) if (!find(next, arn)) failures.delete(arn);
    const restart = needRestart.join(", ");
    if (restart !== loggedRestart && restart !== "") log(`restart to apply ${restart}`);
    loggedRestart = restart;
    return functions;
  }

  /** If a handler was saved while the app ran, the new assembly may contain older code of the handler than the code that runs. */
  async function withLaterCode(before: StackSpec, next: StackSpec): Promise<StackSpec> {
    const isLater = ({ arn }: FunctionSpec) =>
      failures.has(arn) || find(before, arn)?.codeHash !== find(running, arn)?.codeHash;
    const functions = await Promise.all(
      next.functions.map(async (spec) => {
        if (!isLater(spec)) return spec;
        const result = await bundleAgain(spec);
        logFailure(spec, "failure" in result ? result.failure : undefined);
        return "spec" in result ? result.spec : { ...spec, ...codeOf(find(running, spec.arn) ?? spec) };
      }),
    );
    return { ...next, functions };
  }

  function keepCode(spec: FunctionSpec): FunctionSpec {
    return { ...spec, ...codeOf(find(running, spec.arn) ?? spec) };
  }

  function namesOf(specs: readonly FunctionSpec[]): string {
    return specs.map((spec) => displayName(spec, running)).join(", ");
  }

  /** `app.ts and 2 more` */
  function pathsOf([first = "", ...others]: readonly string[]): string {
    const name = isInFolder(first) ? relative(root, first) : relative(root, first) || basename(first);
    return others.length === 0 ? name : `${name} and ${others.length} more`;
  }

  function since(began: number): string {
    return `in ${((clock() - began) / 1000).toFixed(1)} s`;
  }
}

function find({ functions }: StackSpec, arn: string): FunctionSpec | undefined {
  return functions.find((spec) => spec.arn === arn);
}

function codeOf({ codeDir, codeHash }: FunctionSpec): Pick<FunctionSpec, "codeDir" | "codeHash"> {
  return { codeDir, codeHash };
}

function inputsOf({ functions }: StackSpec): Set<string> {
  return new Set(functions.flatMap(({ bundle }) => bundle?.inputs ?? []));
}

type StackChanges = {
  /** The functions that both stacks have with different code or settings, as they are in the second stack. */
  readonly functions: readonly FunctionSpec[];
  /** Every other difference, in words for the log: `queue shop-mail (new)`. */
  readonly needRestart: readonly string[];
};

/** Compares two syntheses of the same app. */
export function compareStacks(before: StackSpec, after: StackSpec): StackChanges {
  const partsAfter = Object.values(partsByKind(after));
  return {
    functions: after.functions.filter((spec) =>
      before.functions.some((old) => old.arn === spec.arn && !isSameFunction(old, spec)),
    ),
    needRestart: Object.values(partsByKind(before)).flatMap((parts, kind) =>
      describeChanges(new Map(parts), new Map(partsAfter[kind])),
    ),
  };
}

/** Compares the code by its hash: its folder differs in each synthesis, and its inputs matter only for the next save. */
function isSameFunction(
  { codeDir: _, bundle: _b, ...one }: FunctionSpec,
  { codeDir: __, bundle: __b, ...other }: FunctionSpec,
): boolean {
  return isDeepStrictEqual(one, other);
}

type Kind = Exclude<keyof StackSpec, "unknownTypes" | "required" | "leftOut" | "warnings">;
/** What the log calls a part of a stack, and the value that changes with the part. */
type Part = readonly [label: string, value: unknown];

function partsByKind(stack: StackSpec): Record<Kind, Part[]> {
  const lastOf = (arn: string) => arn.split(/[:/]/).at(-1);
  return {
    // A changed function needs no restart, so only its name counts.
    functions: stack.functions.map(({ name }) => [`function ${name}`, name]),
    tables: stack.tables.map((spec) => [`table ${spec.name}`, spec]),
    queues: stack.queues.map((spec) => [`queue ${spec.name}`, spec]),
    eventSources: stack.eventSources.map((spec) => [`event source ${lastOf(spec.queueArn)}`, spec]),
    rules: stack.rules.map((spec) => [`rule ${lastOf(spec.arn)}`, spec]),
    eventRules: stack.eventRules.map((spec) => [`rule ${lastOf(spec.arn)}`, spec]),
    eventBuses: stack.eventBuses.map((name) => [`event bus ${name}`, name]),
    scheduleGroups: stack.scheduleGroups.map((name) => [`schedule group ${name}`, name]),
    schedules: stack.schedules.map((spec) => [`schedule ${spec.name}`, spec]),
    secrets: stack.secrets.map((spec) => [`secret ${spec.name}`, spec]),
    routes: stack.routes.map((spec) => [`route ${spec.key}`, spec]),
  };
}

function describeChanges(
  before: ReadonlyMap<string, unknown>,
  after: ReadonlyMap<string, unknown>,
): string[] {
  const newOrChanged = [...after].flatMap(([label, value]) => {
    if (!before.has(label)) return `${label} (new)`;
    return isDeepStrictEqual(before.get(label), value) ? [] : `${label} (changed)`;
  });
  const gone = [...before.keys()].filter((label) => !after.has(label)).map((label) => `${label} (gone)`);
  return [...newOrChanged, ...gone];
}
