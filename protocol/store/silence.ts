import { NO_ANSWER_AFTER } from "../../core/constants.ts";
import { messageOf } from "../../core/errors.ts";
import type { Context, Pool } from "../ports.ts";

/** How long a name whose call has met no answer is not asked again: ms. The next tick may ask it. */
const SILENT_FOR = 40_000;

/** Names that gave no answer. Nobody asks them for a while, because jobs of others would wait for each such call. */
export type Silences = {
  /** Why a name's last call failed; `undefined`: the name may be asked. */
  readonly errorOf: (ctx: Context, name: string) => Error | undefined;
  /** All names that have ever given no answer, those too that may be asked again. */
  readonly names: (ctx: Context) => Iterable<string>;
  /** Notes that a name has given no answer now. */
  readonly note: (ctx: Context, name: string, error: unknown) => void;
};

/** Remembers what gives no answer for `lasts` ms, for each pool by itself. */
export function createSilences(lasts: number): Silences {
  const pools = new WeakMap<Pool, Map<string, { error: Error; until: number }>>();
  return {
    errorOf(ctx, name) {
      const last = pools.get(ctx.pool)?.get(name);
      return last && ctx.clock() < last.until ? last.error : undefined;
    },
    names: (ctx) => pools.get(ctx.pool)?.keys() ?? [],
    note(ctx, name, error) {
      const names = pools.get(ctx.pool) ?? new Map<string, { error: Error; until: number }>();
      pools.set(ctx.pool, names);
      names.set(name, {
        error: error instanceof Error ? error : new Error(messageOf(error)),
        until: ctx.clock() + lasts,
      });
    },
  };
}

/**
 * Makes a function that calls `ask`, and answers and throws as `ask` does. When a call has taken `NO_ANSWER_AFTER` or longer to
 * fail, calls of the same `name` throw that error at once for 40 s.
 */
export function askUnlessSilent(): <T>(ctx: Context, name: string, ask: () => Promise<T>) => Promise<T> {
  const silences = createSilences(SILENT_FOR);
  return async (ctx, name, ask) => {
    const begun = ctx.clock();
    const last = silences.errorOf(ctx, name);
    if (last) throw last;
    try {
      return await ask();
    } catch (error) {
      if (ctx.clock() - begun >= NO_ANSWER_AFTER) silences.note(ctx, name, error);
      throw error;
    }
  };
}
