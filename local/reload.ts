import { isDeepStrictEqual } from "node:util";
import { displayName } from "./display-name.ts";
import { errorCode, errorText, LocalError } from "./local-error.ts";
import type { FunctionSpec, QueueSpec, StackSpec } from "./resources.ts";

type ReloadOptions = {
  /** Hashes the app's files. */
  readonly hashApp: () => string;
  /** The hash of the files from which the running stack was synthesised. */
  readonly runningHash: string;
  readonly synthesise: () => Promise<StackSpec>;
  /** Throws `LocalError` if SQS rejects a queue. */
  readonly createQueues: (queues: readonly QueueSpec[]) => Promise<void>;
  /** Later invocations of these functions run the new code. */
  readonly replaceFunctions: (specs: readonly FunctionSpec[]) => void;
  readonly log: (line: string) => void;
};

/**
 * Makes the function to call after each save. That function synthesises the app and replaces the changed Lambda functions, and
 * repeats both until the app's files no longer change. If the app itself writes files during a synthesis, one more synthesis follows.
 * If the content of these files differs each time, the function never ends.
 */
export function createReloader(started: StackSpec, options: ReloadOptions): () => Promise<void> {
  const { hashApp, synthesise, createQueues, replaceFunctions, log } = options;
  let hash = options.runningHash;
  let running = started;
  let loggedRestart = "";
  let loggedFailure = "";
  let isReloading = false;

  return async function reloadAfterSave(): Promise<void> {
    // An earlier call is still in its loop, which also reloads after this save.
    if (isReloading) return;
    isReloading = true;
    try {
      // Log before the loop, not in it: the log may be a file of the folder, so each line may change the hash.
      if (hashApp() !== hash) log("saved: synthesising …");
      for (let now = hashApp(); now !== hash; now = hashApp()) {
        hash = now;
        await reload();
      }
    } catch (error) {
      log(`nothing is reloaded until the next save: ${errorText(error)}`);
    } finally {
      isReloading = false;
    }
  };

  async function reload(): Promise<void> {
    try {
      await applyChanges(await synthesise());
      if (loggedFailure !== "") log("the app synthesises again");
      loggedFailure = "";
    } catch (error) {
      // The runner is stopping and has ended the app.
      if (errorCode(error) === "AbortError") return;
      // An app in the middle of an edit can fail in any way.
      const failure = error instanceof LocalError ? error.message : `reloading failed: ${errorText(error)}`;
      // Log the same failure only once: the log may be a file of the folder, so each line may count as a save.
      if (failure !== loggedFailure) log(`${failure}; the old functions stay in use`);
      loggedFailure = failure;
    }
  }

  async function applyChanges(next: StackSpec): Promise<void> {
    const { functions, needRestart } = compareStacks(running, next);
    // New functions may send to a new topic's queue at once. The queue's consumer starts only after a restart.
    const known = new Set(running.queues.map(({ name }) => name));
    await createQueues(next.queues.filter(({ name }) => !known.has(name)));
    replaceFunctions(functions);
    running = {
      ...running,
      functions: running.functions.map((spec) => functions.find(({ arn }) => arn === spec.arn) ?? spec),
    };
    if (functions.length > 0) log(`reloaded ${functions.map((spec) => displayName(spec, next)).join(", ")}`);
    const restart = needRestart.join(", ");
    if (restart !== loggedRestart && restart !== "") log(`restart to apply ${restart}`);
    loggedRestart = restart;
  }
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

/** Ignores the folder of the code, which differs in each synthesis. The code's hash shows whether the code is the same. */
function isSameFunction(
  { codeDir: _, ...one }: FunctionSpec,
  { codeDir: __, ...other }: FunctionSpec,
): boolean {
  return isDeepStrictEqual(one, other);
}

type Kind = Exclude<keyof StackSpec, "unknownTypes" | "required" | "leftOut">;
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
