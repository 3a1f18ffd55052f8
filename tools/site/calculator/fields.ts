import { BODY_BYTES, DAY, LONGEST_DELAY } from "../../../src/core/constants.ts";
import { parseDuration } from "../../../src/general/times.ts";
import { DEFAULT_LONG_DELAY_S } from "../../../src/settings/policy.ts";
import type { Plan } from "../../bench/bill/plan.ts";

export type Field<T = unknown> = {
  readonly label: string;
  readonly initial: string;
  /** What the reader can choose: each value with its label. Absent: the reader types a text. */
  readonly choices?: Readonly<Record<string, string>>;
  /** Completes the sentence "… must be". */
  readonly rule: string;
  /** Reads what the reader gave. `undefined`: it breaks the rule. */
  readonly read: (text: string) => T | undefined;
};

/** A field for a number, which may have commas. `digits`: how many the number may have after its point. */
function number(label: string, initial: string, least: number, most: number, digits = 0): Field<number> {
  const shape = digits === 0 ? /^\d+$/ : new RegExp(`^\\d+(\\.\\d{1,${digits}})?$`);
  const range = `from ${least.toLocaleString("en")} to ${most.toLocaleString("en")}`;
  return {
    label,
    initial,
    rule: `a ${digits === 0 ? "whole number" : "number"} ${range}`,
    read(text) {
      const plain = text.replaceAll(",", "").trim();
      const value = Number(plain);
      return shape.test(plain) && value >= least && value <= most ? value : undefined;
    },
  };
}

function choice<T extends string>(label: string, choices: Readonly<Record<T, string>>): Field<T> {
  const values = Object.keys(choices) as T[];
  return {
    label,
    initial: values[0] ?? "",
    choices,
    rule: `one of ${values.join(", ")}`,
    read: (text) => values.find((value) => value === text),
  };
}

/** The fields in the order of the form. Each name is also the field's name in the page's address. */
export const FIELDS = {
  jobs: number("Jobs a month", "1,000,000", 0, 1e12),
  arrival: choice("How they come", {
    bursts: "In bursts: many are due at the same second",
    evenly: "Evenly, all month",
  }),
  delay: {
    label: "Time from filing a job until it is due",
    initial: "30m",
    rule: `a duration such as 30m, 2h or 9d, up to ${LONGEST_DELAY / DAY}d`,
    read(text) {
      const ms = parseDuration(text.trim());
      return ms !== undefined && ms <= LONGEST_DELAY ? ms / DAY : undefined;
    },
  } satisfies Field<number>,
  body: number("Body of a job in KB, as JSON", "0.1", 0, BODY_BYTES / 1024, 3),
  kind: choice("Kind of job", {
    tracked: "Tracked, without a key",
    keyed: "Tracked, with a key",
    untracked: "Untracked",
  }),
  filed: choice("How they are filed", {
    inside: "From inside AWS, in batches",
    http: "Over HTTP, one call each",
    "http-500": "Over HTTP, 500 in a call",
  }),
  cancelled: number("Cancelled before they are due, in %", "0", 0, 100, 2),
  consumer: choice("Who runs them", {
    lambda: "A Lambda function",
    pull: "Workers that pull over HTTP",
    direct: "Workers that pull directly, from inside AWS",
  }),
  workers: number("Workers that always wait for jobs", "1", 1, 1000),
  retention: number("Days for which a finished job is stored", "7", 1, 3650),
  topics: number("Topics", "1", 1, 100),
} as const;

export type FieldName = keyof typeof FIELDS;
export type Values = Record<FieldName, string>;
export type Problems = Partial<Record<FieldName, string>>;

const NAMES = Object.keys(FIELDS) as FieldName[];

function valuesBy(of: (name: FieldName) => string): Values {
  return Object.fromEntries(NAMES.map((name) => [name, of(name)])) as Values;
}

/** The values in the query of an address, such as `?jobs=100000000&kind=keyed`. Other fields have their initial values. */
export function valuesFrom(query: string): Values {
  const given = new URLSearchParams(query);
  return valuesBy((name) => given.get(name) ?? FIELDS[name].initial);
}

/** The query with these values. It is empty if all of them are the initial ones. */
export function queryOf(values: Values): string {
  const changed = NAMES.filter((name) => values[name] !== FIELDS[name].initial);
  const query = new URLSearchParams(changed.map((name) => [name, values[name]])).toString();
  return query === "" ? "" : `?${query}`;
}

export function planOf(values: Values): { readonly plan: Plan } | { readonly problems: Problems } {
  const problems: Problems = {};
  const read = <T>(name: FieldName, { label, rule, read }: Field<T>): T => {
    const value = read(values[name]);
    if (value === undefined) problems[name] = `${label} must be ${rule}, got "${values[name]}".`;
    return value as T;
  };
  const plan: Plan = {
    jobs: read("jobs", FIELDS.jobs),
    arrival: read("arrival", FIELDS.arrival),
    delayDays: read("delay", FIELDS.delay),
    longDelayDays: (DEFAULT_LONG_DELAY_S * 1000) / DAY,
    bodyBytes: read("body", FIELDS.body) * 1024,
    kind: read("kind", FIELDS.kind),
    filed: read("filed", FIELDS.filed),
    cancelled: read("cancelled", FIELDS.cancelled) / 100,
    consumer: read("consumer", FIELDS.consumer),
    workers: read("workers", FIELDS.workers),
    retentionDays: read("retention", FIELDS.retention),
    topics: read("topics", FIELDS.topics),
  };
  return Object.keys(problems).length === 0 ? { plan } : { problems };
}
