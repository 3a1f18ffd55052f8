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

Runs jobs through the embedded stack while a seeded monkey kills and freezes its processes, disturbs its connections, and
doubles and leaves out its ticks. Then the monkey stops, and a ledger outside the stack shows what happened to each job. The
exit code is 1 if a promise was broken. Linux only.

  --jobs N         jobs to file (default 10000)
  --minutes N      for how many minutes jobs are filed and faults happen (default 5)
  --drain N        for how many minutes at most the remaining jobs may run afterwards (default 20)
  --seed N         seed of load and faults (default: from the clock, and printed). The timing still differs between runs
  --faults A,B     only these of ${FAMILIES.join(", ")} (default: all)
  --soak           no faults; exit code 1 if memory or open files of the processes keep growing
  --json FILE      write the results to a file too
  --help           this text`;

/** Parses the command line. Throws an `Error` for unknown options and values. `now`: the seed if none is given. */
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
    families: new Set(values.soak ? [] : values.faults.split(",").map(parseFamily)),
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

function parseFamily(name: string): Family {
  const known = FAMILIES.find((one) => one === name);
  if (!known) throw new Error(`--faults must name some of ${FAMILIES.join(", ")}, got "${name}"`);
  return known;
}
