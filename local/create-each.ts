import { leaveOutDangling } from "./left-out.ts";
import { errorText } from "./local-error.ts";
import type { StackSpec } from "./resources.ts";

type Kind = "table" | "queue" | "schedule group" | "schedule" | "secret";

/** One that a service does not take. */
export type Refusal = { readonly kind: Kind; readonly name: string; readonly reason: string };

/** Creates each by itself: what one is refused for keeps no other from being played. */
export async function createEach<T extends { readonly name: string }>(
  kind: Kind,
  specs: readonly T[],
  create: (spec: T) => Promise<unknown>,
): Promise<Refusal[]> {
  const refusals = specs.map(async (spec) => {
    try {
      await create(spec);
      return [];
    } catch (error) {
      return [{ kind, name: spec.name, reason: errorText(error) }];
    }
  });
  return (await Promise.all(refusals)).flat();
}

export function refusalText({ kind, name, reason }: Refusal): string {
  return `${kind} ${name}: ${reason}`;
}

/** The stack without what was refused, and what leads there. Throws `LocalError` if its delay queue cannot do without. */
export function leaveOutRefused(stack: StackSpec, refusals: readonly Refusal[]): StackSpec {
  const taken = (kind: Kind) => (spec: { readonly name: string }) =>
    !refusals.some((refusal) => refusal.kind === kind && refusal.name === spec.name);
  return leaveOutDangling({
    ...stack,
    tables: stack.tables.filter(taken("table")),
    queues: stack.queues.filter(taken("queue")),
    leftOut: [...stack.leftOut, ...refusals.map(refusalText)],
  });
}
