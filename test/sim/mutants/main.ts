import { execFile } from "node:child_process";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import { messageOf } from "../../../core/errors.ts";
import { inParallel } from "../../../general/batches.ts";
import { wholeOf } from "../options.ts";
import { markedNodes } from "./marked.ts";
import { MUTANTS, type Mutant } from "./mutants.ts";

const HELP = `Removes or changes the protocol's rules, one at a time. Shows which promise then breaks, and after how many histories.

  npm run sim:mutants -- [--seeds N] [--only TEXT] [--story]

  --seeds N    how many histories are played at most for each mutant, 1 or more (3000)
  --only TEXT  only the mutants whose name, rule or file contains this
  --story      prints for each mutant the shortest history that breaks a promise

Exits with 1 if a mutant breaks no promise.`;

const USAGE_ERROR = 2;
const HUNT = fileURLToPath(new URL("hunt.ts", import.meta.url));

type Caught = { promise?: string; after?: number; story?: string[] };

const nodes = markedNodes();
const { seeds, only, story, help } = readOptions();
if (help) console.log(HELP);
else process.exitCode = (await run(seeds, only, story)) ? 0 : 1;

function readOptions() {
  try {
    const { values } = parseArgs({
      options: {
        seeds: { type: "string", default: "3000" },
        only: { type: "string", default: "" },
        story: { type: "boolean", default: false },
        help: { type: "boolean", short: "h", default: false },
      },
    });
    if (!MUTANTS.some((mutant) => matches(mutant, values.only)))
      throw new Error(`--only must be part of a mutant's name, rule or file, got ${values.only}`);
    return { ...values, seeds: wholeOf("--seeds", values.seeds) };
  } catch (error) {
    console.error(`sim:mutants: ${messageOf(error)}\n\n${HELP}`);
    process.exit(USAGE_ERROR);
  }
}

function matches(mutant: Mutant, only: string): boolean {
  return textOf(mutant).includes(only);
}

function textOf({ name, rule }: Mutant): string {
  return `${name} (${rule}, ${nodes.get(rule)?.file})`;
}

async function run(seeds: number, only: string, story: boolean): Promise<boolean> {
  const chosen = MUTANTS.filter((mutant) => matches(mutant, only));
  const began = Date.now();
  const results = await inParallel(chosen, availableParallelism(), async (mutant) => {
    const caught = await hunt(mutant, seeds, story);
    console.log([lineOf(mutant, caught, seeds), ...(caught.story ?? [])].join("\n    "));
    return caught;
  });
  const survivors = results.filter(({ promise }) => promise === undefined).length;
  const seconds = ((Date.now() - began) / 1000).toFixed(0);
  console.log(`\n${chosen.length - survivors} of ${chosen.length} mutants were caught, in ${seconds} s`);
  return survivors === 0;
}

async function hunt({ name }: Mutant, seeds: number, story: boolean): Promise<Caught> {
  const args = [HUNT, name, String(seeds), ...(story ? ["story"] : [])];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return JSON.parse(stdout) as Caught;
}

function lineOf(mutant: Mutant, { promise, after }: Caught, seeds: number): string {
  const end = promise === undefined ? `SURVIVED ${seeds}` : `${promise.padEnd(8)} after ${after}`;
  return `${end.padEnd(20)} ${textOf(mutant)}`;
}
