import type { Context, Pool } from "./ports.ts";

/** What fails so slowly is silent: ms. */
const SLOW = 5_000;
/** How long nobody asks it again: ms. The next tick may. */
const SILENT_FOR = 40_000;

type Silent = { readonly error: unknown; readonly until: number };

/**
 * Keeps many from waiting in turn for what gives no answer, as jobs of other topics wait with them. Asks, and throws as `ask`
 * does. What has taken long to fail is not asked again for a while: its error is thrown at once. `name`: what is asked.
 */
export function askUnlessSilent(): <T>(ctx: Context, name: string, ask: () => Promise<T>) => Promise<T> {
  const pools = new WeakMap<Pool, Map<string, Silent>>();
  return async (ctx, name, ask) => {
    const silent = pools.get(ctx.pool) ?? new Map<string, Silent>();
    pools.set(ctx.pool, silent);
    const begun = ctx.clock();
    const last = silent.get(name);
    if (last && begun < last.until) throw last.error;
    try {
      return await ask();
    } catch (error) {
      if (ctx.clock() - begun >= SLOW) silent.set(name, { error, until: ctx.clock() + SILENT_FOR });
      throw error;
    }
  };
}
