import { messageOf } from "./local-error.ts";
import { playable } from "./playable.ts";
import type { Stack } from "./resources.ts";

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
      return [{ kind, name: spec.name, reason: messageOf(error) }];
    }
  });
  return (await Promise.all(refusals)).flat();
}

export function describe({ kind, name, reason }: Refusal): string {
  return `${kind} ${name}: ${reason}`;
}

/** The stack without what was refused, and what leads there. Throws `LocalError` if its delay queue cannot do without. */
export function withoutRefused(stack: Stack, refusals: readonly Refusal[]): Stack {
  const taken = (kind: Kind) => (spec: { readonly name: string }) =>
    !refusals.some((refusal) => refusal.kind === kind && refusal.name === spec.name);
  return playable({
    ...stack,
    tables: stack.tables.filter(taken("table")),
    queues: stack.queues.filter(taken("queue")),
    leftOut: [...stack.leftOut, ...refusals.map(describe)],
  });
}
