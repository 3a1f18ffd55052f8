import { MinutehandError } from "../core/errors.ts";
import { type Home, homeKey } from "../core/items.ts";
import { jobOfKey } from "./keys.ts";
import type { Context } from "./ports.ts";

/** A job as it stands. Throws `job-not-found`. */
export async function readJob(ctx: Context, id: string): Promise<Home> {
  const [home] = await readHomes(ctx, [id]);
  if (!home) throw notFound(id);
  return home;
}

export function notFound(id: string): MinutehandError {
  return new MinutehandError(
    "job-not-found",
    `there is no job ${id}; finished jobs go after their retention, and an untracked job that was due within ` +
      "210 s when it was enqueued is never stored",
    { id },
  );
}

/** The homes of these jobs, in their order. */
export async function readHomes(ctx: Context, ids: readonly string[]): Promise<(Home | undefined)[]> {
  return (await ctx.pool.read(ids.map(homeKey))) as (Home | undefined)[];
}

/** The id that a caller's own key names. Throws `job-not-found`. */
export async function idOfKey(ctx: Context, topic: string, key: string): Promise<string> {
  const id = await jobOfKey(ctx, topic, key);
  if (id === undefined) {
    throw new MinutehandError("job-not-found", `topic ${topic} has no job with key ${key}`, { key });
  }
  return id;
}
