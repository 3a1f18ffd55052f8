import { MinutehandError } from "./errors.ts";
import type { Head } from "./home.ts";

/**
 * What a caller has seen of the job that it changes: any job (`*`), or one of these revisions, as `<revision>` or `<id>.<revision>`. Each change
 * is conditional on the revision that this check has read, so no other change can come between.
 */
export type IfMatch = "*" | readonly string[];

type Seen = Pick<Head, "id" | "revision">;

export function isAsSeen({ id, revision }: Seen, ifMatch: IfMatch | undefined): boolean {
  if (ifMatch === undefined || ifMatch === "*") return true;
  // rule: change-only-as-seen
  return ifMatch.includes(String(revision)) || ifMatch.includes(`${id}.${revision}`);
}

/** Throws `changed-meanwhile`. */
export function requireAsSeen(job: Seen, ifMatch: IfMatch | undefined): void {
  if (!isAsSeen(job, ifMatch)) throw changedMeanwhile(job);
}

export function changedMeanwhile({ id, revision }: Seen): MinutehandError {
  const text = `job ${id} is not as If-Match says: it has revision ${revision} now. Read the job again, and send its ETag; a tag that begins with W/ names no revision`;
  return new MinutehandError("changed-meanwhile", text, { id, revision });
}
