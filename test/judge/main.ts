import { parseArgs } from "node:util";
import { wholeOf } from "../sim/options.ts";
import { freshSeed } from "../sim/seeds.ts";
import { explain, JUDGE_NAMES, JUDGES, type JudgeName } from "./judges.ts";

const HELP = `Plays random histories of keys, batches and the hand-over against the services in memory, and judges each.

  npm run judge -- [--seeds N] [--from S] [--only NAME] [--trace]

  --seeds N    how many histories of each judge, 1 or more (100)
  --from S     the seed of the first history, 1 or more (drawn anew each time, and printed)
  --only NAME  one of ${JUDGE_NAMES.join(", ")} (all of them)
  --trace      prints all events of each history; use it for few seeds

The same seed always plays the same history. Exits with 1 if a history breaks a promise.`;

const MOST_STORIES = 3;

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "100" },
    from: { type: "string" },
    only: { type: "string" },
    trace: { type: "boolean", default: false },
    help: { type: "boolean", short: "h", default: false },
  },
});
if (values.help) console.log(HELP);
else {
  const from = values.from === undefined ? freshSeed() : wholeOf("--from", values.from);
  const seeds = wholeOf("--seeds", values.seeds);
  const only = JUDGE_NAMES.filter((name) => values.only === undefined || values.only === name);
  if (only.length === 0)
    throw new Error(`--only must be one of ${JUDGE_NAMES.join(", ")}, got ${values.only}`);
  for (const name of only) if (!(await play(name, from, seeds, values.trace))) process.exitCode = 1;
}

async function play(name: JudgeName, from: number, seeds: number, isTraced: boolean): Promise<boolean> {
  // Printed first, so that the seed is known even if this process is killed.
  console.log(`${seeds} histories of ${name} from seed ${from}`);
  const sums: Record<string, number> = {};
  const broken: number[] = [];
  for (let seed = from; seed < from + seeds; seed++) {
    const { violations, trace, stats } = await JUDGES[name](seed, isTraced);
    for (const [what, count] of Object.entries(stats)) sums[what] = (sums[what] ?? 0) + count;
    for (const line of trace) console.log(line);
    if (violations.length === 0) continue;
    broken.push(seed);
    console.log(`seed ${seed}, history ${seed - from + 1}: ${violations[0]}`);
  }
  if (!isTraced) for (const seed of broken.slice(0, MOST_STORIES)) console.log(await explain(name, seed));
  console.log(`${name}: ${broken.length} of ${seeds} histories broke a promise; ${JSON.stringify(sums)}`);
  return broken.length === 0;
}
