import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { messageOf } from "../../../src/core/errors.ts";
import { BILL, lineOf } from "./table.ts";
import { billAll } from "./workloads.ts";

const HELP = `Computes what AWS charges for some workloads: a million jobs, or a month. Takes less than a minute.

  npm run bill -- [--write]

  --write  writes the bill to tools/bench/bill/bill.json, from which the documentation and its calculator take
           their figures (then run: npm run docs)`;

const options = readOptions();
if (options.help) console.log(HELP);
else await run(options.write);

function readOptions() {
  try {
    return parseArgs({
      options: { write: { type: "boolean", default: false }, help: { type: "boolean", default: false } },
    }).values;
  } catch (error) {
    console.error(`bill: ${messageOf(error)}\n\n${HELP}`);
    process.exit(2);
  }
}

async function run(writes: boolean): Promise<void> {
  const bill = await billAll();
  for (const { workload, per, dollars, parts, writeUnits, readUnits } of bill.billed.map(lineOf)) {
    const shown = Object.entries(parts).map(([name, part]) => `${name} ${part}`);
    const units =
      writeUnits === undefined ? "" : `; ${writeUnits} write units and ${readUnits} read units a job`;
    console.log(`${workload}: $${dollars} a ${per} (${shown.join(", ")}${units})`);
  }
  if (writes) writeFileSync(BILL, `${JSON.stringify(bill, undefined, 2)}\n`);
}
