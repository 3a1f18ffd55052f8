import { createHash } from "node:crypto";
import { dueTimesOf, dueTimesText } from "../../core/due-times.ts";
import type { SharedOnceItem } from "../../core/items.ts";
import { drawJobId } from "../../core/job-id.ts";

/** 36 bits are enough to notice another request. With more, a large item costs more. */
const HASH_CHARS = 6;

/** `hash`: the beginning of the hash of the job's request. */
export type SharedJob = { readonly id: string; readonly dueAt: number; readonly hash: string };

export function shortHash(hash: string): string {
  return hash.slice(0, HASH_CHARS).padEnd(HASH_CHARS);
}

/** `jobs`: of the batch in their order, `undefined` for those without a name. */
export function sharedTexts(
  jobs: readonly ({ readonly dueAt: number; readonly hash: string } | undefined)[],
): Pick<SharedOnceItem, "dueAts" | "hashes"> {
  return {
    dueAts: dueTimesText(jobs.map((job) => job?.dueAt)),
    hashes: jobs.map((job) => shortHash(job?.hash ?? "")).join(""),
  };
}

/** Answers in the order of the batch. A hash makes the ids, so that nobody can compute an id from another one. */
export function sharedJobs({
  seed,
  shards,
  dueAts,
  hashes,
}: Pick<SharedOnceItem, "seed" | "shards" | "dueAts" | "hashes">): (SharedJob | undefined)[] {
  return dueTimesOf(dueAts).map((dueAt, at) => {
    if (dueAt === undefined) return undefined;
    const id = drawJobId(dueAt, shards, () => createHash("sha256").update(`${seed} ${at}`).digest());
    return { id, dueAt, hash: hashes.slice(at * HASH_CHARS, (at + 1) * HASH_CHARS) };
  });
}
