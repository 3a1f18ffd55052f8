import { parseArgs } from "node:util";
import { FAMILIES, type Family } from "./fault-plan.ts";

export type TortureOptions = {
  readonly help: boolean;
  readonly jobs: number;
  readonly minutes: number;
  readonly drainMinutes: number;
  readonly seed: number;
  readonly families: ReadonlySet<Family>;
  readonly soak: boolean;
  readonly json: string | undefined;
};

export const HELP = `npm run torture -- [options]

Runs jobs through the embedded stack while a seeded monkey kills and freezes its processes, spoils its connections and
doubles and leaves out its ticks; then lets it heal, and tells from a ledger kept outside it what became of each job. Ends
with 1 when a promise was broken. Linux only.

  --jobs N         jobs to file (default 10000)
  --minutes N      over how many minutes, with faults all that time (default 5)
  --drain N        minutes at most for what is left to run afterwards (default 20)
  --seed N         of load and faults; what they meet is up to the machine (default: by the clock, and printed)
  --faults A,B     only these of ${FAMILIES.join(", ")} (default all)
  --soak           no faults; instead ends with 1 when memory or open files of the processes keep growing
  --json FILE      write the results there, too
  --help           this text`;

/** Throws an `Error` for what it does not know. `now`: the seed when none is given. */
export function parseCommandLine(args: readonly string[], now: number): TortureOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      jobs: { type: "string", default: "10000" },
      minutes: { type: "string", default: "5" },
      drain: { type: "string", default: "20" },
      seed: { type: "string", default: String(now % 2 ** 31) },
      faults: { type: "string", default: FAMILIES.join(",") },
      soak: { type: "boolean", default: false },
      json: { type: "string" },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  return {
    help: values.help,
    jobs: wholeNumber("jobs", values.jobs, 1, 1_000_000),
    minutes: number("minutes", values.minutes, 0.1, 1440),
    drainMinutes: number("drain", values.drain, 0, 1440),
    seed: wholeNumber("seed", values.seed, 0, 2 ** 31 - 1),
    families: new Set(values.soak ? [] : values.faults.split(",").map(family)),
    soak: values.soak,
    json: values.json,
  };
}

function number(name: string, text: string, least: number, most: number): number {
  const value = Number(text);
  if (text.trim() === "" || !(value >= least && value <= most))
    throw new Error(`--${name} must be a number from ${least} to ${most}, got "${text}"`);
  return value;
}

function wholeNumber(name: string, text: string, least: number, most: number): number {
  const value = number(name, text, least, most);
  if (!Number.isInteger(value)) throw new Error(`--${name} must be a whole number, got "${text}"`);
  return value;
}

function family(name: string): Family {
  const known = FAMILIES.find((one) => one === name);
  if (!known) throw new Error(`--faults must name some of ${FAMILIES.join(", ")}, got "${name}"`);
  return known;
}
