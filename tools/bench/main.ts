import { readFileSync, writeFileSync } from "node:fs";
import type { Figure } from "./figure.ts";
import { batch } from "./figures/batch.ts";
import { bundles } from "./figures/bundles.ts";
import { burst } from "./figures/burst.ts";
import { change } from "./figures/change.ts";
import { enqueue } from "./figures/enqueue.ts";
import { handOff } from "./figures/hand-off.ts";
import { list } from "./figures/list.ts";
import { loads } from "./figures/load.ts";
import { sourceMaps } from "./figures/source-maps.ts";
import { spread } from "./figures/spread.ts";
import { units } from "./figures/units.ts";
import { type BenchOptions, helpText, parseCommandLine } from "./options.ts";
import { formatPage, measuredText, PAGE, pageWith } from "./page.ts";
import { startRig } from "./rig.ts";
import { markdownTable, type Row } from "./table.ts";

const USAGE_ERROR = 2;
const MINUTE = 60_000;
const FIGURES: readonly Figure[] = [
  bundles,
  loads,
  sourceMaps,
  units,
  enqueue,
  batch,
  change,
  burst,
  spread,
  handOff,
  list,
];

function say(line: string): void {
  console.error(line);
}

async function run({ quick, only, write }: BenchOptions): Promise<void> {
  const began = Date.now();
  const rig = await startRig(quick, say);
  const rows: Row[] = [];
  try {
    for (const figure of FIGURES) {
      if (only.length > 0 ? !only.includes(figure.name) : figure.isSlow && !write) continue;
      const since = Date.now();
      say(`${figure.name}: ${figure.what}`);
      try {
        rows.push(...(await figure.measure(rig)));
      } catch (error) {
        // The other figures still run, and their rows are printed.
        say(`${figure.name}: ${error instanceof Error ? error.stack : error}`);
        process.exitCode = 1;
      }
      say(`${figure.name}: took ${((Date.now() - since) / 1000).toFixed(1)} s`);
    }
  } finally {
    await rig.stack.stop();
    if (rows.length > 0) console.log(markdownTable(rows));
  }
  const tookMs = Date.now() - began;
  say(`all took ${(tookMs / 1000).toFixed(0)} s`);
  if (!write) return;
  if (process.exitCode === 1) say("the page was not written, because a figure failed");
  else {
    writeFileSync(PAGE, pageWith(readFileSync(PAGE, "utf8"), measuredText(rows, tookMs / MINUTE)));
    formatPage();
  }
}

function readOptions(): BenchOptions {
  try {
    return parseCommandLine(
      process.argv.slice(2),
      FIGURES.map(({ name }) => name),
    );
  } catch (error) {
    say(`bench: ${error instanceof Error ? error.message : error}`);
    process.exit(USAGE_ERROR);
  }
}

const options = readOptions();
if (options.help) console.log(helpText(FIGURES));
else await run(options);
