import { isDeepStrictEqual } from "node:util";
import type { FunctionSpec, StackSpec } from "../template/resources.ts";

export type StackChanges = {
  /** The functions that both stacks have with different code or settings, as they are in the second stack. */
  readonly functions: readonly FunctionSpec[];
  /** Every other difference, in words for the log: `queue shop-mail (new)`. */
  readonly needRestart: readonly string[];
};

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
export function isSameFunction(
  { codeDir: _, bundle: _b, ...one }: FunctionSpec,
  { codeDir: __, bundle: __b, ...other }: FunctionSpec,
): boolean {
  return isDeepStrictEqual(one, other);
}

type Kind = Exclude<keyof StackSpec, "unknownTypes" | "required" | "leftOut" | "warnings">;
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
