import { availableParallelism } from "node:os";
import type { BuildOptions } from "esbuild";
import { inParallel } from "../../src/general/batches.ts";
import { isOfPackages } from "../../src/general/package-files.ts";
import { displayName } from "../template/display-name.ts";
import type { FunctionSpec, QueueSpec, StackSpec } from "../template/resources.ts";
import type { Rebuilt } from "./rebuild.ts";
import type { Change, SavedFiles } from "./saved-files.ts";
import { compareStacks, isSameFunction, type StackChanges } from "./stack-changes.ts";

export type Synthesised = { readonly stack: StackSpec; readonly imports: ReadonlySet<string> };

export type RunningOptions = {
  readonly files: SavedFiles;
  readonly rebuild: (spec: FunctionSpec, build: BuildOptions) => Promise<Rebuilt>;
  /** Throws `LocalError` if SQS rejects a queue. */
  readonly createQueues: (queues: readonly QueueSpec[]) => Promise<void>;
  readonly replaceFunctions: (specs: readonly FunctionSpec[]) => void;
  readonly log: (line: string) => void;
};

/** The stack as it runs now. Its functions change with each reload, and all else only with a restart. */
export type Running = {
  readonly options: RunningOptions;
  stack: StackSpec;
  imports: ReadonlySet<string>;
  /** What is wrong with the handlers that could not be bundled, by the ARNs of their functions. */
  readonly failures: Map<string, string>;
};

/** Also bundles the handlers that could not be bundled before. Answers the functions whose code has changed. They run the new code. */
export async function reloadChanged(
  running: Running,
  changes: ReadonlyMap<string, Change>,
): Promise<FunctionSpec[]> {
  const changed: FunctionSpec[] = [];
  await inParallel(handlersWith(running, changes), availableParallelism(), async (spec) => {
    const result = await bundleAgain(running, spec);
    logFailure(running, spec, "failure" in result ? result.failure : undefined);
    if ("failure" in result) return;
    // The inputs may have changed even if the code has not.
    replaceSpecs(running, [result.spec]);
    if (isSameFunction(spec, result.spec)) return;
    running.options.replaceFunctions([result.spec]);
    changed.push(result.spec);
  });
  return changed;
}

/** A new or deleted file, or an install, may change what an import resolves to, so it concerns every handler. */
function handlersWith(
  { stack: { functions }, failures }: Running,
  changes: ReadonlyMap<string, Change>,
): FunctionSpec[] {
  const isStructural = [...changes].some(([path, change]) => change !== "saved" || isOfPackages(path));
  const isConcerned = ({ arn, bundle }: FunctionSpec) =>
    failures.has(arn) || (bundle?.inputs.some((path) => changes.has(path)) ?? false);
  // The developer waits for these handlers, so they come first.
  const others = isStructural ? functions.filter((spec) => !isConcerned(spec)) : [];
  return [...functions.filter(isConcerned), ...others].filter(({ bundle }) => bundle?.build);
}

async function bundleAgain({ options }: Running, spec: FunctionSpec): Promise<Rebuilt> {
  if (!spec.bundle?.build) return { spec };
  const result = await options.rebuild(spec, spec.bundle.build);
  // The files at fault may not be inputs of any bundle yet. They are watched, so that a save that repairs them is noticed.
  if ("failure" in result) options.files.addInputs(result.inputs);
  return result;
}

function replaceSpecs(running: Running, specs: readonly FunctionSpec[]): void {
  const functions = running.stack.functions.map((spec) => specs.find(({ arn }) => arn === spec.arn) ?? spec);
  running.stack = { ...running.stack, functions };
  running.options.files.addInputs(inputsOf(running.stack));
}

function logFailure(
  { options: { log }, stack, failures }: Running,
  spec: FunctionSpec,
  failure: string | undefined,
): void {
  if (failure === failures.get(spec.arn)) return;
  const name = displayName(spec, stack);
  if (failure === undefined) {
    failures.delete(spec.arn);
    log(`${name} works again`);
    return;
  }
  failures.set(spec.arn, failure);
  log(`${failure}; the old ${name} stays in use`);
}

/** `before`: the stack that ran when the synthesis began. `needRestart`: every difference except in functions. */
export async function applySynthesis(
  running: Running,
  before: StackSpec,
  { stack, imports }: Synthesised,
): Promise<StackChanges> {
  const { createQueues, replaceFunctions } = running.options;
  const next = await withLaterCode(running, before, stack);
  const changes = compareStacks(running.stack, next);
  // New functions may send to a new topic's queue at once. The queue's consumer starts only after a restart.
  const known = new Set(running.stack.queues.map(({ name }) => name));
  await createQueues(next.queues.filter(({ name }) => !known.has(name)));
  replaceFunctions(changes.functions);
  replaceSpecs(
    running,
    next.functions.map((spec) => (changes.functions.includes(spec) ? spec : withRunningCode(running, spec))),
  );
  running.stack = { ...running.stack, warnings: next.warnings };
  running.imports = imports;
  for (const arn of [...running.failures.keys()]) if (!find(next, arn)) running.failures.delete(arn);
  return changes;
}

/** If a handler was saved while the app ran, the new assembly may contain older code of the handler than the code that runs. */
async function withLaterCode(running: Running, before: StackSpec, next: StackSpec): Promise<StackSpec> {
  const isLater = ({ arn }: FunctionSpec) =>
    running.failures.has(arn) || find(before, arn)?.codeHash !== find(running.stack, arn)?.codeHash;
  const functions = await Promise.all(
    next.functions.map(async (spec) => {
      if (!isLater(spec)) return spec;
      const result = await bundleAgain(running, spec);
      logFailure(running, spec, "failure" in result ? result.failure : undefined);
      return "spec" in result ? result.spec : withRunningCode(running, spec);
    }),
  );
  return { ...next, functions };
}

function withRunningCode({ stack }: Running, spec: FunctionSpec): FunctionSpec {
  const { codeDir, codeHash } = find(stack, spec.arn) ?? spec;
  return { ...spec, codeDir, codeHash };
}

function find({ functions }: StackSpec, arn: string): FunctionSpec | undefined {
  return functions.find((spec) => spec.arn === arn);
}

export function inputsOf({ functions }: StackSpec): Set<string> {
  return new Set(functions.flatMap(({ bundle }) => bundle?.inputs ?? []));
}
