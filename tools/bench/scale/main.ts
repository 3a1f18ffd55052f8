import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { Worker } from "node:worker_threads";
import { messageOf } from "../../../src/core/errors.ts";
import { checkAgainstEmulators } from "./check.ts";
import { measureCpu } from "./cpu.ts";
import type { CpuCosts } from "./lambda.ts";
import { PROVISIONED, SETUPS } from "./limits.ts";
import type { Result } from "./run.ts";
import { type Line, pendingTable, tableOf, WRITTEN, type Written } from "./tables.ts";
import type { Asked } from "./worker.ts";
import { WORKLOADS } from "./workloads.ts";

const SHARDS = [8, 64, 256, 1024];
const NAMES = WORKLOADS.map(({ name }) => name);

const HELP = `Plays the real tick against models of DynamoDB, SQS and Lambda, on a simulated clock. Takes about twelve minutes on two cores.

  npm run scale -- [--only NAME[,NAME]] [--shards N[,N]] [--pollers N] [--write] [--check]

  --only NAME[,NAME]  only these workloads
  --shards N[,N]      other numbers of shards than ${SHARDS.join(",")}
  --pollers N         another number of provisioned pollers than ${PROVISIONED.pollers}, 2 to 200
  --write             writes the results to tools/bench/scale/scale.json, from which the documentation takes its tables (then run: npm run docs)
  --check             compares the model with the emulators instead, for one tick

Workloads:
${WORKLOADS.map(({ name, what }) => `  ${name.padEnd(8)}${what}`).join("\n")}`;

function readOptions() {
  try {
    const { values } = parseArgs({
      options: {
        only: { type: "string", default: NAMES.join(",") },
        shards: { type: "string", default: SHARDS.join(",") },
        pollers: { type: "string", default: String(PROVISIONED.pollers) },
        write: { type: "boolean", default: false },
        check: { type: "boolean", default: false },
        help: { type: "boolean", default: false },
      },
    });
    const [only, shards] = [values.only.split(","), values.shards.split(",").map(Number)];
    for (const name of only)
      if (!NAMES.includes(name))
        throw new Error(`--only must name one of ${NAMES.join(", ")}, got "${name}"`);
    for (const one of shards)
      if (!Number.isInteger(one) || one < 1 || one > 1024)
        throw new Error(`--shards must be whole numbers from 1 to 1024, got "${values.shards}"`);
    const pollers = Number(values.pollers);
    if (!Number.isInteger(pollers) || pollers < 2 || pollers > 200)
      throw new Error(`--pollers must be a whole number from 2 to 200, got "${values.pollers}"`);
    return { ...values, only, shards, pollers };
  } catch (error) {
    console.error(`scale: ${messageOf(error)}\n\n${HELP}`);
    process.exit(2);
  }
}

async function playAll(runs: readonly Asked[]): Promise<Result[]> {
  const results: Result[] = [];
  let next = 0;
  const thread = async (): Promise<void> => {
    const worker = new Worker(new URL("worker.ts", import.meta.url));
    while (next < runs.length) {
      const at = next++;
      const { workload, shards, setup } = runs[at] as Asked;
      const begun = Date.now();
      worker.postMessage(runs[at]);
      // Rejects if the worker throws.
      results[at] = ((await once(worker, "message")) as [Result])[0];
      console.error(
        `${workload}, ${shards} shards, ${setup.name} table: took ${((Date.now() - begun) / 1000).toFixed(1)} s`,
      );
    }
    await worker.terminate();
  };
  await Promise.all(Array.from({ length: Math.min(availableParallelism(), runs.length) }, thread));
  return results;
}

function describe({ call, swept, audited }: CpuCosts): string {
  return `CPU on this machine, on a whole core: ${call.toFixed(2)} ms for a call, ${(swept * 1000).toFixed(1)} µs for a job that is swept, ${(audited * 1000).toFixed(1)} µs for a job that is audited`;
}

async function run({ only, shards, pollers, write }: ReturnType<typeof readOptions>): Promise<void> {
  const costs = await measureCpu();
  console.log(`${describe(costs)}\n`);
  const runs = only.flatMap((workload) =>
    shards.flatMap((count) =>
      SETUPS.map((setup): Asked => ({ workload, shards: count, setup, pollers, costs })),
    ),
  );
  const results = await playAll(runs);
  const lines = runs.map(({ workload, shards, setup }, i): Line => {
    return { workload, shards, setup: setup.name, ...(results[i] as Result) };
  });
  for (const { name, what, aim } of WORKLOADS) {
    if (!only.includes(name)) continue;
    console.log(`## ${name}: ${what}\n\nAim: ${aim}.\n\n${tableOf(name, lines)}\n`);
  }
  console.log(`## Pending jobs\n\n${pendingTable()}`);
  const written: Written = { costs, lines };
  if (write) writeFileSync(WRITTEN, `${JSON.stringify(written, undefined, 2)}\n`);
}

const options = readOptions();
if (options.help) console.log(HELP);
else if (options.check) console.log(await checkAgainstEmulators(await measureCpu()));
else await run(options);
