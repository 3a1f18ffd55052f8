import { GROUP_CHARS, LONGEST_DELAY, LONGEST_SPREAD, MOST_ATTEMPTS, TAG_BYTES } from "./constants.ts";

/**
 * What a job may have beside its topic, body and time. Whoever files a job says its options, and whoever replaces a job renews
 * all of them.
 *
 * Each option is declared here and nowhere else: its type and sentence in this type, its range in `JOB_OPTIONS`. From the two
 * follow the API's checks, documents and answers, the client's type, the stored job, its message, a schedule's job and the
 * command line's flag. Durations are ms.
 */
export type JobOptions = {
  /** The URL of the receiver, for topics with a webhook consumer. Absent: the topic's own URL. */
  callbackUrl?: string;
  /** Names and values for the handler. The receiver of a webhook gets them as HTTP headers. */
  headers?: Record<string, string>;
  /** How long after the requested due time the job may start. After that it does not run, and its state is `expired`. */
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

/** An option's kind with its range. `description`: the sentence of its field in `JobOptions`. */
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
      "How long after the requested due time the job may start. After that it does not run, and its state is `expired`.",
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

/** What of its options a job keeps: its spread is spent when the job is filed. */
export type KeptOptions = Omit<JobOptions, "spread">;
export const KEPT_OPTIONS = OPTION_NAMES.filter((name): name is keyof KeptOptions => name !== "spread");

/** Those options that a job's message carries to its consumer as they are. `expiresAfter` becomes a time there. */
export const CARRIED_OPTIONS = [
  "callbackUrl",
  "headers",
  "maxAttempts",
] as const satisfies (keyof KeptOptions)[];
export type CarriedOptions = Pick<JobOptions, (typeof CARRIED_OPTIONS)[number]>;

/** A job's options, and nothing else of it. */
export function optionsOf(job: JobOptions): JobOptions {
  return chosen(job, OPTION_NAMES);
}

/** The options that a stored job keeps of those it was filed with. */
export function keptOptionsOf(job: JobOptions): KeptOptions {
  return chosen(job, KEPT_OPTIONS);
}

/** The names of those options that a stored job keeps and this one has not. */
export function absentOptionsOf(job: JobOptions): string[] {
  return KEPT_OPTIONS.filter((name) => job[name] === undefined);
}

/** What a stored option must be and is not; `undefined`: the option is absent or fits. Somebody else may have written it. */
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

function chosen(job: JobOptions, names: readonly JobOption[]): JobOptions {
  return Object.fromEntries(names.flatMap((name) => (job[name] === undefined ? [] : [[name, job[name]]])));
}

function isWhole(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isMapOfText(value: unknown): boolean {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  return Object.values(value).every((text) => typeof text === "string");
}
