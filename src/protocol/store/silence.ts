import { NO_ANSWER_AFTER } from "../../core/constants.ts";
import { asError } from "../../core/errors.ts";
import type { Context, Pool } from "../ports.ts";

/** Less than a minute, so that the next tick may ask again: ms. */
const SILENT_FOR = 40_000;

/** Partitions or topics that gave no answer. For a while no call is made for them: it would keep other jobs waiting. */
export type Silences = {
  /** Why no call for a name is made now: the last error. */
  readonly of: (ctx: Context, name: string) => { readonly error: Error } | undefined;
  readonly note: (ctx: Context, name: string, error: unknown) => void;
};

/** Separate for each pool. After `lasts` ms, a call for a name may be made again. */
export function createSilences(lasts: number): Silences {
  const pools = new WeakMap<Pool, Map<string, { error: Error; until: number }>>();
  return {
    of(ctx, name) {
      const last = pools.get(ctx.pool)?.get(name);
      return last && ctx.clock() < last.until ? last : undefined;
    },
    note(ctx, name, error) {
      const names = pools.get(ctx.pool) ?? new Map<string, { error: Error; until: number }>();
      pools.set(ctx.pool, names);
      names.set(name, {
        error: asError(error),
        until: ctx.clock() + lasts,
      });
    },
  };
}

/** After a call that took `NO_ANSWER_AFTER` to fail, calls of the same `name` fail at once. */
export function askUnlessSilent(): <T>(ctx: Context, name: string, ask: () => Promise<T>) => Promise<T> {
  const silences = createSilences(SILENT_FOR);
  return async (ctx, name, ask) => {
    const begun = ctx.clock();
    const silence = silences.of(ctx, name);
    if (silence) throw silence.error;
    try {
      return await ask();
    } catch (error) {
      if (ctx.clock() - begun >= NO_ANSWER_AFTER) silences.note(ctx, name, error);
      throw error;
    }
  };
}
