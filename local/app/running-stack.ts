import { availableParallelism } from "node:os";
import { relative } from "node:path";
import type { BuildOptions } from "esbuild";
import { inParallel } from "../../src/general/batches.ts";
import { displayName } from "../template/display-name.ts";
import type { FunctionSpec, QueueSpec, StackSpec } from "../template/resources.ts";
import { packageLists } from "./bundle-note.ts";
import type { Inputs, Look } from "./inputs.ts";
import { type Rebuilt, withFolderCode, withFolderFiles } from "./rebuild.ts";
import { CODE, codeFiles, OWN_PROGRAM } from "./sources.ts";
import { compareStacks, isSameFunction } from "./stack-changes.ts";

/** What a run of the app gave. */
export type Synthesised = {
  readonly stack: StackSpec;
  /** The files that the app has imported or read, and the settings of the CDK. */
  readonly inputs: readonly string[];
  /** When the run began, ms since the epoch. */
  readonly began: number;
};

export type RunningOptions = {
  readonly root: string;
  readonly inputs: Inputs;
  readonly rebuild: (spec: FunctionSpec, build: BuildOptions) => Promise<Rebuilt>;
  /** Throws `LocalError` if SQS rejects a queue. */
  readonly createQueues: (queues: readonly QueueSpec[]) => Promise<void>;
  readonly replaceFunctions: (specs: readonly FunctionSpec[]) => void;
  readonly log: (line: string) => void;
  /** ms since the epoch. */
  readonly clock: () => number;
};

/** The stack as it runs now. Its functions change with each reload, and all else only with a restart. */
export type Running = {
  readonly options: RunningOptions;
  stack: StackSpec;
  /** The files that the app has imported or read. */
  appInputs: ReadonlySet<string>;
  /** The files of the app's folder that may be inputs too, if some inputs are unknown. */
  maybeInputs: ReadonlySet<string>;
  /** If the app fails: all code of its folder, and what was there before, because any of these files may repair it. */
  repairs: ReadonlySet<string>;
  /** Whether the last synthesis has failed. */
  appFails: boolean;
  /** Why handlers could not be bundled, by the ARNs of their functions. */
  readonly failures: Map<string, { readonly failure: string; readonly inputs: readonly string[] }>;
  /** ms since the epoch. */
  lookedAt: number;
};

export function startRunning({ stack, inputs, began }: Synthesised, options: RunningOptions): Running {
  const appInputs = new Set(inputs);
  const [maybeInputs, repairs] = [new Set<string>(), new Set<string>()];
  const running = { options, stack, appInputs, maybeInputs, repairs, appFails: false, failures: new Map() };
  follow(running, began);
  return { ...running, lookedAt: began };
}

/** Answers how the files of the stack have changed since the last look. */
export function lookAgain(running: Running): Look {
  running.maybeInputs = findMaybeInputs(running);
  running.repairs = findRepairs(running);
  // A new file may lie in the folder of a function.
  running.stack = { ...running.stack, functions: running.stack.functions.map(withFolderFiles) };
  follow(running, running.lookedAt);
  running.lookedAt = running.options.clock();
  return running.options.inputs.look();
}

/** Also tries the handlers again that could not be bundled. */
export function handlersWith({ stack, failures }: Running, changed: readonly string[]): FunctionSpec[] {
  const paths = new Set(changed);
  return stack.functions.filter(
    ({ arn, bundle }) => failures.has(arn) || bundle?.inputs.some((path) => paths.has(path)),
  );
}

/** A failed app may be repaired by any file. */
export function isOfApp({ appInputs, maybeInputs, appFails }: Running, path: string): boolean {
  return appFails || appInputs.has(path) || maybeInputs.has(path);
}

/** Bundles handlers again. Answers the functions whose code has changed. They run the new code. */
export async function rebuildHandlers(
  running: Running,
  specs: readonly FunctionSpec[],
): Promise<FunctionSpec[]> {
  const { rebuild, replaceFunctions, clock } = running.options;
  const changed: FunctionSpec[] = [];
  await inParallel(specs, availableParallelism(), async (spec) => {
    const { build, folder } = spec.bundle ?? {};
    if (!build && folder === undefined) return;
    const began = clock();
    const result = build ? await rebuild(spec, build) : { spec: withFolderCode(spec, folder ?? "") };
    noteFailure(running, spec, "failure" in result ? result : undefined);
    if ("spec" in result) {
      // The inputs may have changed even if the code has not.
      const functions = running.stack.functions.map((one) => (one.arn === spec.arn ? result.spec : one));
      running.stack = { ...running.stack, functions };
      if (!isSameFunction(spec, result.spec)) {
        replaceFunctions([result.spec]);
        changed.push(result.spec);
      }
    }
    follow(running, began);
  });
  return changed;
}

function noteFailure(
  { options: { log }, stack, failures }: Running,
  spec: FunctionSpec,
  failed: { readonly failure: string; readonly inputs: readonly string[] } | undefined,
): void {
  const name = displayName(spec, stack);
  const before = failures.get(spec.arn)?.failure;
  if (failed === undefined) {
    if (failures.delete(spec.arn)) log(`${name} works again`);
    return;
  }
  failures.set(spec.arn, failed);
  if (failed.failure !== before) log(`${failed.failure}; the old ${name} stays in use`);
}

/** `before`: the stack that ran when the app began. Answers the replaced functions, and every other difference in words. */
export async function applySynthesis(
  running: Running,
  before: StackSpec,
  { stack: next, inputs, began }: Synthesised,
): Promise<{ readonly functions: FunctionSpec[]; readonly needRestart: readonly string[] }> {
  const { createQueues, replaceFunctions } = running.options;
  const now = running.stack;
  // If a handler was saved while the app ran, the assembly may contain older code of the handler than the code that runs.
  const isLater = ({ arn }: FunctionSpec) =>
    running.failures.has(arn) || find(before, arn)?.codeHash !== find(now, arn)?.codeHash;
  const functions = next.functions.map((spec) => (isLater(spec) ? withCodeOf(now, spec) : spec));
  const changes = compareStacks(now, { ...next, functions });
  // New functions may send to a new topic's queue at once. The queue's consumer starts only after a restart.
  const known = new Set(now.queues.map(({ name }) => name));
  await createQueues(next.queues.filter(({ name }) => !known.has(name)));
  replaceFunctions(changes.functions);
  const specs = functions.map((spec) => (changes.functions.includes(spec) ? spec : withCodeOf(now, spec)));
  running.stack = {
    ...now,
    warnings: next.warnings,
    functions: now.functions.map((spec) => specs.find(({ arn }) => arn === spec.arn) ?? spec),
  };
  for (const arn of [...running.failures.keys()]) if (!find(next, arn)) running.failures.delete(arn);
  running.appInputs = new Set(inputs);
  follow(running, began);
  const later = await rebuildHandlers(running, running.stack.functions.filter(isLater));
  return { functions: [...changes.functions, ...later], needRestart: changes.needRestart };
}

/** Another file of the app's folder may repair it, and so may an install. */
export function noteAppFailure(running: Running, { inputs, began }: Omit<Synthesised, "stack">): void {
  running.repairs = findRepairs(running);
  running.appInputs = new Set([...running.appInputs, ...inputs, ...packageLists(running.options.root)]);
  follow(running, began);
}

/** Whether a function or the app contains the file, as far as is known. */
export function isUsed(running: Running, path: string): boolean {
  return usedFiles(running).includes(path);
}

function usedFiles({ stack, failures, appInputs, maybeInputs }: Omit<Running, "lookedAt">): string[] {
  const ofFunctions = stack.functions.flatMap(({ bundle }) => bundle?.inputs ?? []);
  const ofFailures = [...failures.values()].flatMap(({ inputs }) => inputs);
  return [...appInputs, ...maybeInputs, ...ofFunctions, ...ofFailures];
}

function follow(running: Omit<Running, "lookedAt">, since: number): void {
  running.options.inputs.follow([...usedFiles(running), ...running.repairs], since);
}

/** If the app's imports or those of a function are unknown, each file with code in the app's folder may be an input. */
function findMaybeInputs({ stack, appInputs, options: { root } }: Running) {
  const knowsImports = [...appInputs].some(
    (path) => path === OWN_PROGRAM || (CODE.test(path) && !relative(root, path).startsWith("..")),
  );
  const knowsAll = knowsImports && stack.functions.every(({ bundle }) => bundle !== undefined);
  return new Set(knowsAll ? [] : codeFiles(root));
}

/** Tests too, because a compiler that runs before the app may have refused one. The files of before, because the repair may delete one. */
function findRepairs({ repairs, maybeInputs, appFails, options: { root } }: Running) {
  return new Set(appFails ? [...repairs, ...maybeInputs, ...codeFiles(root, { tests: true })] : []);
}

function withCodeOf(stack: StackSpec, spec: FunctionSpec): FunctionSpec {
  const { codeDir, codeHash } = find(stack, spec.arn) ?? spec;
  return { ...spec, codeDir, codeHash };
}

function find({ functions }: StackSpec, arn: string): FunctionSpec | undefined {
  return functions.find((spec) => spec.arn === arn);
}
