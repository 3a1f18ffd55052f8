import { lookAt } from "../core/items.ts";
import type { Context } from "./ports.ts";

/** Files looks; one that is there already is one's own earlier effect, or as good. `since`: of a job that cannot be read. */
export async function fileLooks(
  ctx: Context,
  looks: readonly { id: string; time: number; since?: number }[],
  by: number,
): Promise<void> {
  if (looks.length === 0) return;
  const items = new Map(
    looks.map(({ id, time, ...more }) => [`${id} ${time}`, { ...lookAt(id, time), ...more }]),
  );
  for (const outcome of await ctx.pool.insert([...items.values()], by))
    if (outcome instanceof Error) throw outcome;
}
