import type { History } from "../history.ts";
import { playInThreads } from "../threads.ts";
import { firstCatch, firstOf } from "./catch.ts";
import { plant } from "./defect.ts";
import { MUTANTS } from "./mutants.ts";

// `node hunt.ts <name> <seeds> <known> [story [promise]]` prints a mutant's catch as JSON. `known`: the seed to play first, or 0.
const [, , name, seeds, known, story, promise] = process.argv;
const mutant = MUTANTS.find((one) => one.name === name);
if (!mutant) throw new Error(`there is no mutant ${name}`);
plant(mutant);
const { simulate } = await import("../simulate.ts");
const { shrink, storyOf } = await import("../shrink.ts");
const { habitOf } = await import("../habits.ts");
const { weatherOf } = await import("../faults.ts");

const SHRINKING = 300;
const WIDTH = 200;

const first = Array.from({ length: Number(seeds) }, (_, i) => i + 1);
const telling = first.filter((seed) =>
  [habitOf(seed, weatherOf(seed)).kind, undefined].includes(mutant.habit),
);
const caught = await firstCatch(firstOf(telling, Number(known)), {
  damaged: simulate,
  whole: playInThread,
  promise,
});
const told =
  caught && story === "story" ? storyOf((await shrink(caught.seed, SHRINKING)).history, WIDTH) : [];
console.log(JSON.stringify(caught ? { ...caught, story: told } : {}));

/** A thread loads its own modules, and the defect is planted in this thread alone. */
async function playInThread(seed: number): Promise<History> {
  const histories: History[] = [];
  await playInThreads({ from: seed, seeds: 1, weeks: false, reached: false }, (history) =>
    histories.push(history),
  );
  const [history] = histories;
  if (!history) throw new Error(`seed ${seed} was not played`);
  return history;
}
