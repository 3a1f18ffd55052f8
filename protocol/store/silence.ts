import { NO_ANSWER_AFTER } from "../../core/constants.ts";
import type { Context, Pool } from "../ports.ts";

/** How long nobody asks it again: ms. The next tick may. */
const SILENT_FOR = 40_000;

type Silent = { readonly error: unknown; readonly until: number };

/**
 * Makes a function that calls `ask`, and answers and throws as `ask` does. When a call has taken `NO_ANSWER_AFTER` or longer to fail, calls
 * of the same `name` throw that error at once for `SILENT_FOR`: jobs of other topics wait for the caller.
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
      if (ctx.clock() - begun >= NO_ANSWER_AFTER)
        silent.set(name, { error, until: ctx.clock() + SILENT_FOR });
      throw error;
    }
  };
}
