import { plant } from "./defect.ts";
import { MUTANTS } from "./mutants.ts";

// One mutant in a process of its own: `node hunt.ts <name> <seeds>` prints what caught it as JSON.
const [, , name, seeds] = process.argv;
const mutant = MUTANTS.find((one) => one.name === name);
if (!mutant) throw new Error(`there is no mutant ${name}`);
plant(mutant);
const { simulate } = await import("../simulate.ts");
let caught: { promise: string; after: number; text: string } | undefined;
for (let seed = 1; seed <= Number(seeds) && !caught; seed++) {
  const { violation } = await simulate(seed);
  if (violation) caught = { promise: violation.promise, after: seed, text: violation.text };
}
console.log(JSON.stringify(caught ?? {}));
