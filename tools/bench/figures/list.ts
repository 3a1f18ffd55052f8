import { BatchWriteItemCommand } from "@aws-sdk/client-dynamodb";
import { BATCH_JOBS, DAY } from "../../../src/core/constants.ts";
import { TIMERS } from "../../../src/environment/process.ts";
import { chunksOf } from "../../../src/general/batches.ts";
import { createApp } from "../../../src/http/app.ts";
import { routes } from "../../../src/http/route-table.ts";
import { createService } from "../../../src/http/service.ts";
import type { Figure } from "../figure.ts";
import { homesOf, newJobs } from "../jobs.ts";
import { load } from "../load.ts";
import { attributesOf, createTable, WIDTH } from "../plain-table.ts";
import { contextOf, type Rig } from "../rig.ts";
import { alternate, medianRatio } from "../rounds.ts";
import { median } from "../statistics.ts";
import { atLeast, inMs, type Row } from "../table.ts";

const FEW = 10_000;
const MANY = 1_000_000;
const SPAN = 3_600_000;
const TOPIC = "bench-list";
const ROUNDS = 20;
const LEAST = 0.5;
/** "BatchWriteItem", Amazon DynamoDB API Reference. */
const BATCH_WRITES = 25;

type Call = (method: string, path: string, body?: object) => Promise<void>;

/** The time of a page with 1,000,000 pending jobs in an hour, where a minute has more than a page reads, against 10,000. */
export const list: Figure = {
  name: "list",
  what: "pages of lists and parts of bulks, 1,000,000 pending jobs against 10,000; runs only with --only list or --write, because filling a table takes minutes",
  isSlow: true,
  async measure(rig) {
    const from = Date.now() + DAY;
    const range = { from: new Date(from).toISOString(), to: new Date(from + SPAN).toISOString() };
    const [few, many] = [rig.count(FEW), rig.count(MANY)];
    const sparse = await fillTable(rig, "bench-list-few", from, few);
    const crowded = await fillTable(rig, "bench-list-many", from, many);
    const compare = async (figure: string, call: (on: Call) => Promise<void>): Promise<Row> => {
      for (const on of [sparse, crowded]) await call(on);
      const timed = async (on: Call): Promise<number> => {
        const began = performance.now();
        await call(on);
        return performance.now() - began;
      };
      const { ours, ceiling } = await alternate(
        ROUNDS,
        () => timed(crowded),
        () => timed(sparse),
      );
      const ratio = medianRatio(ceiling, ours);
      return {
        figure: `${figure}, ${many.toLocaleString("en")} jobs; with ${few.toLocaleString("en")}`,
        ours: inMs(median(ours)),
        ceiling: inMs(median(ceiling)),
        ratio,
        aim: atLeast(ratio, LEAST),
      };
    };
    const page = `/jobs?${new URLSearchParams({ ...range, limit: "100" })}`;
    const bulk = { action: "cancel", topic: TOPIC, dryRun: true, ...range };
    return [
      await compare("list: first page of 100", (on) => on("GET", page)),
      await compare("list: a page for a tag that no job has", (on) => on("GET", `${page}&tag=none`)),
      await compare("bulk: a dry run's part of 500", (on) => on("POST", "/jobs/bulk", bulk)),
    ];
  },
};

/** Fills a table that no tick and no consumer uses with jobs that are due evenly. Answers a function that calls the API over it. */
async function fillTable(rig: Rig, name: string, from: number, count: number): Promise<Call> {
  const table = await createTable(rig.plain.dynamo, name);
  const ctx = contextOf(rig, { table, topics: { [TOPIC]: {} }, clock: Date.now });
  const began = performance.now();
  for (let filed = 0; filed < count; filed += 20 * BATCH_JOBS) {
    if (filed % (10 * FEW) === 0 && filed > 0) rig.progress(`list: ${filed} of ${count} jobs filed`);
    const some = Math.min(count - filed, 20 * BATCH_JOBS);
    const jobs = newJobs(some, TOPIC, (index) => from + Math.floor(((filed + index) / count) * SPAN));
    const puts = attributesOf(await homesOf(ctx, jobs)).map((Item) => ({ PutRequest: { Item } }));
    const calls = chunksOf(puts, BATCH_WRITES);
    await load(calls.length, WIDTH, async (call) => {
      const RequestItems = { [table]: calls[call] ?? [] };
      const { UnprocessedItems = {} } = await rig.plain.dynamo.send(
        new BatchWriteItemCommand({ RequestItems }),
      );
      if (Object.keys(UnprocessedItems).length > 0)
        throw new Error("the emulator left items of a batch unwritten");
    });
  }
  rig.progress(`list: ${count} jobs filed in ${((performance.now() - began) / 1000).toFixed(0)} s`);

  const app = createApp(createService(ctx, console, TIMERS), routes);
  return async (method, path, body) => {
    const { pathname, search } = new URL(path, "http://bench.invalid");
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const answer = await app({ method, path: pathname, query: search.slice(1), headers: {}, ...sent });
    if (answer.status >= 300) throw new Error(`${method} ${path} answered ${answer.status}: ${answer.body}`);
  };
}
