import { errorText } from "../local-error.ts";

export type ResourceKind = "table" | "queue" | "schedule group" | "schedule" | "secret";

export type Refusal = { readonly kind: ResourceKind; readonly name: string; readonly reason: string };

/** Creates resources in parallel. If a service rejects one of them, the others are still created. Answers the rejected ones. */
export async function createEach<T extends { readonly name: string }>(
  kind: ResourceKind,
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

/** `queue shop-mail: no such attribute` */
export function refusalText({ kind, name, reason }: Refusal): string {
  return `${kind} ${name}: ${reason}`;
}
