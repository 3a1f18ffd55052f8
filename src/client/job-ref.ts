import { MinutehandError } from "../core/errors.ts";

/** A job: its id, or its topic and its key. */
export type JobRef<Topic extends string = string> = string | JobByKey<Topic>;
export type JobByKey<Topic extends string = string> = { readonly topic: Topic; readonly key: string };

/** Only plain JavaScript can give something else, such as a whole job. Throws `bad-request`. */
export function requireRef(job: JobRef): JobRef {
  if (typeof job === "string" || isByKey(job)) return job;
  throw new MinutehandError(
    "bad-request",
    `a job must be given as its id, or as { topic, key }, got ${told(job)}`,
  );
}

function isByKey(job: unknown): boolean {
  const { topic, key, ...others } = Object(job);
  return typeof topic === "string" && typeof key === "string" && Object.keys(others).length === 0;
}

function told(job: unknown): string {
  if (typeof job !== "object" || job === null) return String(job);
  const names = Object.keys(job);
  return names.length === 0 ? "an object without fields" : `an object with the fields ${names.join(", ")}`;
}
