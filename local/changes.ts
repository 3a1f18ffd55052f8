import { isDeepStrictEqual } from "node:util";
import type { FunctionSpec, StackSpec } from "./resources.ts";

export type Changes = {
  /** Those whose code or settings are others now. */
  readonly functions: readonly FunctionSpec[];
  /** What else is another, in words: it is there after a restart. */
  readonly others: readonly string[];
};

/** How each kind is called, and by what one of it is known. */
const KINDS = {
  tables: ["table", ({ name }) => name],
  queues: ["queue", ({ name }) => name],
  eventSources: ["event source", ({ queueArn }) => queueArn.split(":").at(-1) ?? ""],
  rules: ["rule", ({ arn }) => arn.split("/").at(-1) ?? ""],
  eventRules: ["rule", ({ arn }) => arn.split("/").at(-1) ?? ""],
  eventBuses: ["event bus", (name) => name],
  scheduleGroups: ["schedule group", (name) => name],
  schedules: ["schedule", ({ name }) => name],
  secrets: ["secret", ({ name }) => name],
  routes: ["route", ({ key }) => key],
} satisfies { [K in Kind]: readonly [string, (one: StackSpec[K][number]) => string] };

type Kind = Exclude<keyof StackSpec, "functions" | "unknownTypes" | "required" | "leftOut">;

/** What another synth of the same app has changed. */
export function changesOf(before: StackSpec, after: StackSpec): Changes {
  const known = new Map(before.functions.map((spec) => [spec.arn, spec]));
  const gone = before.functions.filter(({ arn }) => after.functions.every((spec) => spec.arn !== arn));
  return {
    functions: after.functions.filter((spec) => {
      const old = known.get(spec.arn);
      return old !== undefined && !isSame(old, spec);
    }),
    others: [
      ...after.functions.filter(({ arn }) => !known.has(arn)).map(({ name }) => `function ${name} (new)`),
      ...gone.map(({ name }) => `function ${name} (gone)`),
      ...(Object.keys(KINDS) as Kind[]).flatMap((kind) => changesIn(kind, before, after)),
    ],
  };
}

/** Code is known by its hash: each synth has a folder of its own. */
function isSame({ codeDir: _old, ...one }: FunctionSpec, { codeDir: _new, ...other }: FunctionSpec): boolean {
  return isDeepStrictEqual(one, other);
}

function changesIn(kind: Kind, before: StackSpec, after: StackSpec): string[] {
  const [word, nameOf] = KINDS[kind] as readonly [string, (one: unknown) => string];
  const old = new Map(before[kind].map((one) => [nameOf(one), one]));
  const now = new Map(after[kind].map((one) => [nameOf(one), one]));
  const changes = [...now].flatMap(([name, one]) => {
    if (!old.has(name)) return `${word} ${name} (new)`;
    return isDeepStrictEqual(old.get(name), one) ? [] : `${word} ${name} (changed)`;
  });
  return [
    ...changes,
    ...[...old.keys()].filter((name) => !now.has(name)).map((name) => `${word} ${name} (gone)`),
  ];
}
