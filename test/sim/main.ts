import { messageOf } from "../../core/errors.ts";
import { HELP, type Options, parseCommandLine } from "./options.ts";
import { type Share, shares } from "./share.ts";
import { shrink, storyOf } from "./shrink.ts";
import { simulate } from "./simulate.ts";

const USAGE_ERROR = 2;
const EVERY = 5000;
const SHRINKING = 500;
const MOST_STORIES = 3;
const WIDTH = 220;

const options = readOptions();
if (options.help) console.log(HELP);
else process.exitCode = (await run(options)) ? 0 : 1;

function readOptions(): Options {
  try {
    return parseCommandLine(process.argv.slice(2));
  } catch (error) {
    console.error(`sim: ${messageOf(error)}\n\n${HELP}`);
    process.exit(USAGE_ERROR);
  }
}

async function run({ seeds, from, trace }: Options): Promise<boolean> {
  const sum = shares();
  const began = Date.now();
  let told = began;
  for (let seed = from; seed < from + seeds; seed++) {
    const history = await simulate(seed, { traced: trace });
    sum.add(history);
    if (trace) console.log(history.trace.join("\n"));
    if (history.violation && sum.share.broken <= MOST_STORIES) await explain(seed);
    else if (history.violation) console.log(`seed ${seed} breaks ${history.violation.promise}`);
    if (Date.now() - told < EVERY) continue;
    told = Date.now();
    console.error(`${seed - from + 1} of ${seeds} histories, ${sum.share.broken} broken`);
  }
  print(sum.share, from, (Date.now() - began) / 1000);
  return sum.share.broken === 0;
}

/** Tells the shortest story that breaks the same promise, and how to see it again. */
async function explain(seed: number): Promise<void> {
  const { history, suppressed } = await shrink(seed, SHRINKING);
  const { violation } = history;
  console.log(`\nseed ${seed} breaks ${violation?.promise}: ${violation?.text}`);
  console.log(`${suppressed.size} users and faults are not needed for it; what is left:\n`);
  for (const line of storyOf(history, WIDTH)) console.log(`  ${line}`);
  console.log(`\nplay it again:  npm run sim -- --seeds 1 --from ${seed} --trace\n`);
}

function print(
  { histories, faults, jobs, runs, calls, broken, latest }: Share,
  from: number,
  seconds: number,
): void {
  console.log(
    `${histories} histories (seeds ${from} to ${from + histories - 1}) in ${seconds.toFixed(0)} s: ${jobs} jobs, ` +
      `${runs} runs, ${calls} calls, ${faults} faults; ${broken} broke a promise. ` +
      (latest === undefined ? "" : `Without faults the latest run was ${latest} ms late.`),
  );
}
