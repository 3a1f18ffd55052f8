import { NEAR } from "../../core/constants.ts";
import { MinutehandError } from "../../core/errors.ts";
import { type Head, type Home, headOf } from "../../core/home.ts";
import { homeKey, keyItemKey } from "../../core/item-keys.ts";
import type { KeyItem } from "../../core/items.ts";
import {
  isUnreadable,
  readHome,
  requireReadable,
  type Unreadable,
  unreadableError,
} from "../../core/readable.ts";
import { chunksOf, inParallel } from "../../general/batches.ts";
import type { Context } from "../ports.ts";
import { type Read, readApart } from "./read-apart.ts";
import { reportUnreadable } from "./unreadable.ts";

/** `unreadable`: a newer version wrote the home, or it is malformed. */
export type HomeRead = Read<Home> | { readonly is: "unreadable"; readonly home: Unreadable };

const WIDTH = 2;

/** @throws `job-not-found`; `unavailable` if the home is unreadable */
export async function readJob(ctx: Context, id: string): Promise<Home> {
  const [home] = await readHomes(ctx, [id]);
  if (isUnreadable(home)) throw unreadableError(home);
  if (!home) throw notFound(id);
  return home;
}

export function notFound(id: string): MinutehandError {
  return new MinutehandError(
    "job-not-found",
    `there is no job ${id}; a finished job is deleted after its retention, and an untracked job that was due within ` +
      `${NEAR / 1000} s when it was enqueued is never stored`,
    { id },
  );
}

export function notInTopic(topic: string, id: string): MinutehandError {
  return new MinutehandError("job-not-found", `topic ${topic} has no job ${id}`, { id });
}

/** Answers in the order of the ids. `undefined`: the job does not exist. */
export async function readHomes(
  ctx: Context,
  ids: readonly string[],
): Promise<(Home | Unreadable | undefined)[]> {
  const items = await ctx.pool.read(ids.map(homeKey));
  return ids.map((id, i) => {
    const item = items[i];
    return item && readHome(item, id);
  });
}

/** As `readHomes`, but one bucket's trouble fails no other (`readApart`). */
export async function readHomesApart<J extends { readonly id: string }>(
  ctx: Context,
  jobs: readonly J[],
): Promise<[J, HomeRead][]> {
  const reads = await readApart(ctx, jobs, ({ id }) => homeKey(id));
  return reads.map(([job, read]) => {
    if (read.is !== "found") return [job, read];
    const home = readHome(read.value, job.id);
    return [job, isUnreadable(home) ? { is: "unreadable", home } : { is: "found", value: home }];
  });
}

/** As `readHomes`, but reports unreadable homes and answers `undefined` for them. `what`: the caller's task, for the report. */
export async function readReadableHomes(
  ctx: Context,
  ids: readonly string[],
  what: string,
): Promise<(Home | undefined)[]> {
  const homes = await readHomes(ctx, ids);
  reportUnreadable(ctx, what, homes.filter(isUnreadable));
  return homes.map((home) => (isUnreadable(home) ? undefined : home));
}

/** As `readHomes`, without the bodies. At most twice `ctx.sizes.heads` bodies are in memory at once. */
export async function readHeads(
  ctx: Context,
  ids: readonly string[],
): Promise<(Head | Unreadable | undefined)[]> {
  const parts = await inParallel(chunksOf(ids, ctx.sizes.heads), WIDTH, async (part) =>
    (await readHomes(ctx, part)).map(withoutBody),
  );
  return parts.flat();
}

export function withoutBody(home: Home | Unreadable | undefined): Head | Unreadable | undefined {
  return home === undefined || isUnreadable(home) ? home : headOf(home);
}

/** @throws `job-not-found`; `unavailable` if the key's item cannot be read */
export async function idOfKey(ctx: Context, topic: string, key: string): Promise<string> {
  const [read] = (await ctx.pool.read([keyItemKey(topic, key)])) as [KeyItem | undefined];
  const item = requireReadable(read, `a key of topic ${topic}`);
  if (item) return item.id;
  throw new MinutehandError("job-not-found", `topic ${topic} has no job with key ${key}`, { key });
}
