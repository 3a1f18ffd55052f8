import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { lineOf, writtenBill } from "../../tools/bench/bill/table.ts";
import { billAll } from "../../tools/bench/bill/workloads.ts";

test("the documentation's bill is what the code costs; `npm run bill -- --write` and `npm run docs` write it", async () => {
  expect((await billAll()).billed.map(lineOf)).toEqual(writtenBill());
});

test("the documentation says what a further shard costs while idle", () => {
  const dollarsOf = (workload: string): number =>
    Number(writtenBill().find((line) => line.workload === workload)?.dollars);
  const more =
    dollarsOf("an idle queue of one topic with 64 shards") - dollarsOf("an idle queue of one topic");
  const price = `$${(more / (64 - 8)).toFixed(2)} a month`;
  for (const page of ["limits-and-cost", "sizing"])
    expect(readFileSync(`docs/reference/${page}.md`, "utf8")).toContain(price);
});
