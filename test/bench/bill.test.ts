import { expect, test } from "vitest";
import { lineOf, writtenBill } from "../../bench/bill/table.ts";
import { billAll } from "../../bench/bill/workloads.ts";

test("the documentation's bill is what the code costs; `npm run bill -- --write` and `npm run docs` write it", async () => {
  expect((await billAll()).billed.map(lineOf)).toEqual(writtenBill());
}, 240_000);
