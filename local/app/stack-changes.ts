import { isDeepStrictEqual } from "node:util";
import { readyQueuesOf } from "../template/delay-queue.ts";
import type { FunctionSpec, StackSpec } from "../template/resources.ts";

export type StackChanges = {
  /** The functions that both stacks have with different code or settings, as they are in the second stack. */
  readonly functions: readonly FunctionSpec[];
  /** Every other difference, in words for the log: `topic mail (new)`, `queue shop-mail (new)`. */
  readonly needRestart: readonly string[];
};

export function compareStacks(before: StackSpec, after: StackSpec): StackChanges {
  const partsAfter = partsByKind(after);
  return {
    functions: after.functions.filter((spec) =>
      before.functions.some((old) => old.arn === spec.arn && !isSameFunction(old, spec)),
    ),
    needRestart: partsByKind(before).flatMap((parts, kind) =>
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

/** A user knows a topic, and not its queues and functions. So these are one part, which comes first. */
function partsByKind(stack: StackSpec): Part[][] {
  const owners = ownersOf(stack);
  const kinds = Object.values(namedParts(stack));
  const owned = Map.groupBy(kinds.flat(), ([label]) => owners.get(label));
  const others = kinds.map((parts) => parts.filter(([label]) => !owners.has(label)));
  owned.delete(undefined);
  return [[...owned].map(([owner = "", parts]) => [owner, parts]), ...others];
}

/** Answers `topic report` or `event rules` for the label of each part that belongs to it. */
function ownersOf({ functions, eventSources, eventRules }: StackSpec): Map<string, string> {
  const owners = new Map<string, string>();
  const own = (label: string, owner: string | undefined) =>
    owner && !owners.has(label) && owners.set(label, owner);
  const ofQueue = (arn: string) => owners.get(`queue ${lastOf(arn)}`);
  for (const [queue, owner] of functions.flatMap(queuesOfFunction))
    for (const label of [`queue ${queue}`, `queue ${queue}_dlq`, `event source ${queue}`]) own(label, owner);
  for (const { queueArn, functionArn } of eventSources)
    own(`function ${lastOf(functionArn)}`, ofQueue(queueArn));
  for (const { arn, queueArns } of eventRules)
    own(`rule ${lastOf(arn)}`, queueArns.map(ofQueue).find(Boolean));
  for (const { name, environment } of functions) {
    const { MINUTEHAND_TARGET: target, MINUTEHAND_WEBHOOK_SECRET: secret = "" } = environment;
    own(`secret ${lastOf(secret)}`, owners.get(`function ${name}`));
    // The ARN of an alias ends in the name of the alias.
    own(`function ${target?.split(":")[6]}`, owners.get(`function ${name}`));
  }
  return owners;
}

/** Answers the names of the queues of a function's delay queue, and to what each belongs. */
function queuesOfFunction(spec: FunctionSpec): [string, string][] {
  const queues = readyQueuesOf(spec);
  const [first] = queues;
  const ready = queues.map(([topic, queue]): [string, string] => [queue, `topic ${topic}`]);
  return first === undefined
    ? []
    : [...ready, [`${first[1].slice(0, -first[0].length - 1)}_events`, "event rules"]];
}

function lastOf(arn: string): string | undefined {
  return arn.split(/[:/]/).at(-1);
}

function namedParts(stack: StackSpec): Record<Kind, Part[]> {
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
