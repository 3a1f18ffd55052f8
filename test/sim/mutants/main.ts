import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import { messageOf } from "../../../src/core/errors.ts";
import { inParallel } from "../../../src/general/batches.ts";
import { wholeOf } from "../options.ts";
import { markedNodes } from "./marked.ts";
import { MUTANTS, type Mutant } from "./mutants.ts";

const HELP = `Removes or changes the protocol's rules, one at a time. Shows which promise then breaks, and after how many histories.

  npm run sim:mutants -- [--seeds N] [--only TEXT] [--known | --record] [--story]

  --seeds N    how many histories are played at most for each mutant, 1 or more (3000)
  --only TEXT  only the mutants whose name, rule or file contains this
  --known      plays the history first that caught the mutant when the seeds were recorded; then all others
  --record     records for each caught mutant the seed of that history
  --story      prints for each mutant the shortest history that breaks a promise

Exits with 1 if a mutant breaks no promise.`;

const USAGE_ERROR = 2;
const HUNT = fileURLToPath(new URL("hunt.ts", import.meta.url));

const KNOWN_SEEDS = fileURLToPath(new URL("known-seeds.json", import.meta.url));

type Caught = { promise?: string; seed?: number; after?: number; story?: string[] };

const nodes = markedNodes();
const recorded: Record<string, number> = JSON.parse(readFileSync(KNOWN_SEEDS, "utf8"));
const options = readOptions();
if (options.help) console.log(HELP);
else process.exitCode = (await run(options)) ? 0 : 1;

function readOptions() {
  try {
    const { values } = parseArgs({
      options: {
        seeds: { type: "string", default: "3000" },
        only: { type: "string", default: "" },
        known: { type: "boolean", default: false },
        record: { type: "boolean", default: false },
        story: { type: "boolean", default: false },
        help: { type: "boolean", short: "h", default: false },
      },
    });
    if (!MUTANTS.some((mutant) => matches(mutant, values.only)))
      throw new Error(`--only must be part of a mutant's name, rule or file, got ${values.only}`);
    if (values.known && values.record)
      throw new Error(
        "--record records the first seed that catches a mutant, so it cannot be used with --known",
      );
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

type Options = ReturnType<typeof readOptions>;

async function run({ seeds, only, known, record, story }: Options): Promise<boolean> {
  // Begin with those that took longest, so that none of them is left alone at the end.
  const chosen = MUTANTS.filter((mutant) => matches(mutant, only)).sort(
    (one, other) => (recorded[other.name] ?? seeds) - (recorded[one.name] ?? seeds),
  );
  const began = Date.now();
  const results = await inParallel(chosen, availableParallelism(), async (mutant) => {
    const first = known ? (recorded[mutant.name] ?? 0) : 0;
    const caught = await hunt(mutant, { seeds, first, story });
    console.log([lineOf(mutant, caught, { seeds, first }), ...(caught.story ?? [])].join("\n    "));
    return { ...caught, name: mutant.name };
  });
  if (record) writeSeeds(results);
  const survivors = results.filter(({ promise }) => promise === undefined).length;
  const seconds = ((Date.now() - began) / 1000).toFixed(0);
  console.log(`\n${chosen.length - survivors} of ${chosen.length} mutants were caught, in ${seconds} s`);
  const missed = results.filter(({ name, seed }) => known && seed !== undefined && seed !== recorded[name]);
  if (missed.length > 0)
    console.log(
      `The recorded history did not catch ${missed.length} of them: run it with --record, which takes longer.`,
    );
  return survivors === 0;
}

function writeSeeds(caught: readonly { name: string; seed?: number }[]): void {
  const found = Object.fromEntries(
    caught.flatMap(({ name, seed }) => (seed === undefined ? [] : [[name, seed]])),
  );
  const all = MUTANTS.flatMap(({ name }) => {
    const seed = found[name] ?? recorded[name];
    return seed === undefined ? [] : [[name, seed]];
  });
  writeFileSync(KNOWN_SEEDS, `${JSON.stringify(Object.fromEntries(all), undefined, 2)}\n`);
}

type Hunt = { readonly seeds: number; readonly first: number; readonly story: boolean };

async function hunt({ name }: Mutant, { seeds, first, story }: Hunt): Promise<Caught> {
  const args = [HUNT, name, String(seeds), String(first), ...(story ? ["story"] : [])];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return JSON.parse(stdout) as Caught;
}

function lineOf(
  mutant: Mutant,
  { promise, seed, after }: Caught,
  { seeds, first }: Omit<Hunt, "story">,
): string {
  const where = seed === first ? `in seed ${seed}` : `after ${after}`;
  const end = promise === undefined ? `SURVIVED ${seeds}` : `${promise.padEnd(8)} ${where}`;
  return `${end.padEnd(20)} ${textOf(mutant)}`;
}
