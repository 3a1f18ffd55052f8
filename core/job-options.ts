/** What a job may have beside its topic, body and time: said when it is filed, renewed as a whole when it is replaced. */
export type JobOptions = {
  /** Where a webhook topic's job is sent, if not to the topic's own URL. */
  callbackUrl?: string;
  headers?: Record<string, string>;
  /** ms past the time that was asked for, after which the job is expired, not run. */
  expiresAfter?: number;
  maxAttempts?: number;
  tag?: string;
  group?: string;
};

const NAMES = ["callbackUrl", "headers", "expiresAfter", "maxAttempts", "tag", "group"] as const;

/** Those of a job's options that it has, and nothing else of it. */
export function jobOptionsOf(job: JobOptions): JobOptions {
  return Object.fromEntries(NAMES.flatMap((name) => (job[name] === undefined ? [] : [[name, job[name]]])));
}

/** The names of those that it has not. */
export function absentOptionsOf(job: JobOptions): string[] {
  return NAMES.filter((name) => job[name] === undefined);
}
