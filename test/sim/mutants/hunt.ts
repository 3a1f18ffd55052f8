import { plant } from "./defect.ts";
import { MUTANTS } from "./mutants.ts";

// One mutant in a process of its own: `node hunt.ts <name> <seeds> [story]` prints what caught it as JSON.
const [, , name, seeds, story] = process.argv;
const mutant = MUTANTS.find((one) => one.name === name);
if (!mutant) throw new Error(`there is no mutant ${name}`);
plant(mutant);
const { simulate } = await import("../simulate.ts");
const { shrink, storyOf } = await import("../shrink.ts");

const SHRINKING = 300;
const WIDTH = 200;

let caught: { promise: string; after: number; story: string[] } | undefined;
for (let seed = 1; seed <= Number(seeds) && !caught; seed++) {
  const { violation } = await simulate(seed);
  // A mutant that merely throws is no proof.
  if (!violation || violation.promise === "defect") continue;
  const told = story === "story" ? storyOf((await shrink(seed, SHRINKING)).history, WIDTH) : [];
  caught = { promise: violation.promise, after: seed, story: told };
}
console.log(JSON.stringify(caught ?? {}));
