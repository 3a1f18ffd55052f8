import { messageOf } from "../../src/core/errors.ts";
import type { History } from "./history.ts";
import { HELP, type Options, parseCommandLine } from "./options.ts";
import { OUT_OF_REACH } from "./out-of-reach.ts";
import { pointsOf, zerosOf } from "./reached.ts";
import { type Share, shares } from "./share.ts";
import { shrink, storyOf } from "./shrink.ts";
import { simulate } from "./simulate.ts";
import { playInThreads } from "./threads.ts";

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

async function run({ seeds, from, weeks, trace, reached }: Options): Promise<boolean> {
  const sum = shares();
  const began = Date.now();
  let told = began;
  const broken: History[] = [];
  const add = (history: History): void => {
    sum.add(history);
    if (history.violation) {
      broken.push(history);
      console.error(`seed ${history.seed} breaks ${history.violation.promise}: ${history.violation.text}`);
    }
    if (Date.now() - told < EVERY) return;
    told = Date.now();
    console.error(`${sum.share.histories} of ${seeds} histories, ${sum.share.broken} broken`);
  };
  console.log(`${seeds} histories from seed ${from}`);
  if (trace) await playTraced(from, seeds, weeks, add);
  else await playInThreads({ from, seeds, weeks, reached }, add);
  print(sum.share, from, (Date.now() - began) / 1000);
  broken.sort((a, b) => a.seed - b.seed);
  for (const { seed } of broken.slice(0, MOST_STORIES)) await explain(seed, weeks);
  for (const { seed, violation } of broken.slice(MOST_STORIES))
    console.log(`seed ${seed} breaks ${violation?.promise}`);
  if (broken.length > 0) console.log(findability(sum.share));
  const isAllReached = !reached || printReached(sum.share.reached);
  return broken.length === 0 && isAllReached;
}

/** How many clean histories make a mend count: if none of them breaks, the fault is gone with a probability of 95 %. */
function findability({ histories, broken }: Share): string {
  const clean = Math.ceil((Math.log(20) * histories) / broken);
  return `One of ${Math.round(histories / broken)} histories broke. After a mend, ${clean} histories without a fault make it count (95 %).`;
}

function printReached(reached: ReadonlyMap<string, number>): boolean {
  const names = [...new Set(pointsOf().map(({ name }) => name))];
  const rows = names.map((name) => [name, reached.get(name) ?? 0] as const);
  for (const [name, count] of rows.sort(([, a], [, b]) => a - b))
    console.log(`${String(count).padStart(7)}  ${name}${count === 0 ? whyNot(name) : ""}`);
  const zeros = zerosOf(names, reached);
  for (const name of zeros) console.log(`no history reached: ${name}`);
  return zeros.length === 0;
}

function whyNot(name: string): string {
  const why = OUT_OF_REACH[name]?.why;
  return why === undefined ? "" : ` (${why})`;
}

async function playTraced(
  from: number,
  seeds: number,
  weeks: boolean,
  each: (history: History) => void,
): Promise<void> {
  for (let seed = from; seed < from + seeds; seed++) {
    const history = await simulate(seed, { traced: true, weeks });
    each(history);
    console.log(history.trace.join("\n"));
  }
}

async function explain(seed: number, weeks: boolean): Promise<void> {
  console.error(`seed ${seed} is played again, with fewer and fewer users and faults`);
  const { history, suppressed } = await shrink(seed, SHRINKING, weeks);
  const { violation } = history;
  console.log(`\nseed ${seed} breaks ${violation?.promise}: ${violation?.text}`);
  console.log(`${suppressed.size} users and faults are not needed for it; what is left:\n`);
  for (const line of storyOf(history, WIDTH)) console.log(`  ${line}`);
  console.log(
    `\nplay it again:  npm run sim -- --seeds 1 --from ${seed}${weeks ? " --weeks" : ""} --trace\n`,
  );
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
