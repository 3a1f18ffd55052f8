/**
 * Answers the entity tag of a job at a path of the API. It names the revision, which each change by a caller raises. At the path of a key it
 * also names the job, because the key can lead to another job later.
 */
export function etagOf(path: string, { id, revision }: { id: string; revision: number }): string {
  return path.startsWith("/jobs/") ? `"${revision}"` : `"${id}.${revision}"`;
}
