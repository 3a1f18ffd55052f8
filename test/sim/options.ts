import { parseArgs } from "node:util";
import { freshSeed } from "./seeds.ts";

export const HELP = `Plays histories of Minutehand against simulated services with virtual time, and judges each.

  npm run sim -- [--seeds N] [--from S] [--weeks] [--trace] [--reached]

  --seeds N   how many histories, 1 or more (1000)
  --from S    the seed of the first history, 1 or more (drawn anew each time, and printed)
  --weeks     lets each history last weeks; without it one in a hundred does
  --trace     prints all events of each history; use it for few seeds
  --reached   prints how many histories reached each rule, refusal and recovery; for 1000 histories or more

The same seed always plays the same history, call by call. Exits with 1 if a history breaks a promise, or if none reached a place
that --reached names.`;

export type Options = ReturnType<typeof parseCommandLine>;

/** Throws an Error that names the rule and what was given. */
export function parseCommandLine(args: readonly string[]) {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seeds: { type: "string", default: "1000" },
      from: { type: "string" },
      weeks: { type: "boolean", default: false },
      trace: { type: "boolean", default: false },
      reached: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  const from = values.from === undefined ? freshSeed() : wholeOf("--from", values.from);
  return { ...values, seeds: wholeOf("--seeds", values.seeds), from };
}

export function wholeOf(name: string, text: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= 1) return value;
  throw new Error(`${name} must be a whole number of 1 or more, got ${text}`);
}
