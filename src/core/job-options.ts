import { GROUP_CHARS, LONGEST_DELAY, LONGEST_SPREAD, MOST_ATTEMPTS, TAG_BYTES } from "./constants.ts";

/**
 * The options of a job, beside its topic, body and time. A job that is replaced loses all its options and gets those of the new request.
 *
 * Each option is declared only here: its type and sentence in this type, its range in `JOB_OPTIONS`. The API's checks, documents
 * and answers, the client's type, the stored job, its message, a schedule's job and the command line's flag all follow from these
 * two. Durations are ms.
 */
export type JobOptions = {
  /** The URL of the receiver, for topics with a webhook consumer. Absent: the topic's own URL. */
  callbackUrl?: string;
  /** Names and values for the handler. The receiver of a webhook gets them as HTTP headers. */
  headers?: Record<string, string>;
  /**
   * How long after the requested due time, with the random part of `spread`, the job may start. After that it does not run, and
   * its state is `expired`.
   */
  expiresAfter?: number;
  /** How often the job runs before it is dead. Absent: the topic's `maxAttempts`. */
  maxAttempts?: number;
  /** A label by which lists and bulks find the job. */
  tag?: string;
  /** The tenant of the job. A backlog of one tenant delays the jobs of other tenants as little as possible. */
  group?: string;
  /** Makes the job due later than requested, by a random duration up to this one. Absent: the topic's `spread`. */
  spread?: number;
};

/** The kind and the range of an option. `description` repeats the sentence of its field in `JobOptions`. */
type Declaration = { readonly description: string } & (
  | { readonly kind: "url" | "headers" }
  | { readonly kind: "text"; readonly mostBytes: number }
  | { readonly kind: "ascii"; readonly mostChars: number }
  | { readonly kind: "duration"; readonly isLongerThan0?: true; readonly most: number }
  | { readonly kind: "count"; readonly least: number; readonly most: number }
);

export const JOB_OPTIONS = {
  callbackUrl: {
    kind: "url",
    description: "The URL of the receiver, for topics with a webhook consumer. Absent: the topic's own URL.",
  },
  headers: {
    kind: "headers",
    description: "Names and values for the handler. The receiver of a webhook gets them as HTTP headers.",
  },
  expiresAfter: {
    kind: "duration",
    isLongerThan0: true,
    most: LONGEST_DELAY,
    description:
      "How long after the requested due time, with the random part of `spread`, the job may start. After that it does not run, and its state is `expired`.",
  },
  maxAttempts: {
    kind: "count",
    least: 1,
    most: MOST_ATTEMPTS,
    description: "How often the job runs before it is dead. Absent: the topic's `maxAttempts`.",
  },
  tag: { kind: "text", mostBytes: TAG_BYTES, description: "A label by which lists and bulks find the job." },
  group: {
    kind: "ascii",
    mostChars: GROUP_CHARS,
    description:
      "The tenant of the job. A backlog of one tenant delays the jobs of other tenants as little as possible.",
  },
  spread: {
    kind: "duration",
    most: LONGEST_SPREAD,
    description:
      "Makes the job due later than requested, by a random duration up to this one. Absent: the topic's `spread`.",
  },
} as const satisfies { readonly [Name in keyof Required<JobOptions>]: Declaration };

export type JobOption = keyof JobOptions;
export const OPTION_NAMES = Object.keys(JOB_OPTIONS) as JobOption[];

/** The options that a stored job keeps: all but `spread`, which is applied when the job is filed. */
export type KeptOptions = Omit<JobOptions, "spread">;
export const KEPT_OPTIONS = OPTION_NAMES.filter((name): name is keyof KeptOptions => name !== "spread");

/** The options that a job's message carries unchanged to its consumer. `expiresAfter` becomes the time `expiresAt` there. */
export const CARRIED_OPTIONS = [
  "callbackUrl",
  "headers",
  "maxAttempts",
] as const satisfies (keyof KeptOptions)[];
export type CarriedOptions = Pick<JobOptions, (typeof CARRIED_OPTIONS)[number]>;

/** Picks a job's options from all that it has. */
export function optionsOf(job: JobOptions): JobOptions {
  return pick(job, OPTION_NAMES);
}

/** Picks the options that a stored job keeps. */
export function keptOptionsOf(job: JobOptions): KeptOptions {
  return pick(job, KEPT_OPTIONS);
}

/** Writes options as the API answers them: durations in seconds. */
export function optionsInSeconds<Options extends JobOptions>(options: Options): Options {
  const told = Object.entries(options).map(([name, value]) => {
    const isDuration = JOB_OPTIONS[name as JobOption].kind === "duration";
    return [name, isDuration ? Number(value) / 1000 : value];
  });
  return Object.fromEntries(told);
}

/** Answers the names of the options that a stored job could have and this job does not have. */
export function absentOptionsOf(job: JobOptions): string[] {
  return KEPT_OPTIONS.filter((name) => job[name] === undefined);
}

/**
 * Answers the kind that a stored option must have, if it has another kind; `undefined` if the option fits or is absent. The check
 * is needed because anyone may have written the item.
 */
export function optionTrouble(name: JobOption, value: unknown): string | undefined {
  if (value === undefined) return undefined;
  const option: Declaration = JOB_OPTIONS[name];
  switch (option.kind) {
    case "url":
    case "text":
    case "ascii":
      return typeof value === "string" ? undefined : "text";
    case "headers":
      return isMapOfText(value) ? undefined : "a map";
    case "count":
      return isWhole(value) ? undefined : "a count";
    case "duration":
      return isWhole(value) && value <= option.most ? undefined : "a number of ms";
  }
}

function pick(job: JobOptions, names: readonly JobOption[]): JobOptions {
  return Object.fromEntries(names.flatMap((name) => (job[name] === undefined ? [] : [[name, job[name]]])));
}

function isWhole(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isMapOfText(value: unknown): boolean {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  return Object.values(value).every((text) => typeof text === "string");
}
