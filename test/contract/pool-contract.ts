import { afterAll, beforeAll, describe } from "vitest";
import type { Pool } from "../../src/protocol/ports.ts";
import { countContract } from "./count-contract.ts";
import { pageContract } from "./page-contract.ts";
import { poolBatchContract } from "./pool-batch-contract.ts";
import { poolWriteContract } from "./pool-write-contract.ts";
import { scanContract } from "./scan-contract.ts";
import { transactContract } from "./transact-contract.ts";

export type OpenPool = {
  readonly pool: Pool;
  /** ms since the epoch: `createdAt()` must lie there. */
  readonly createdBetween: readonly [number, number];
  close(): Promise<void>;
};

export type PoolBench = {
  pool(): Pool;
  createdBetween(): readonly [number, number];
  /** A deadline that is not yet reached. */
  by(): number;
  /** A partition key that no other test uses. */
  partition(): string;
};

/** The time on the suite's clock, which stands still, so that a deadline is reached exactly when a test says so. */
export const NOW = 1_772_357_400_000;

/** What every implementation of `Pool` does. `open` gets the clock that the pool measures deadlines on. */
export function poolContract(name: string, open: (clock: () => number) => Promise<OpenPool>): void {
  describe(`the pool ${name}`, () => {
    const run = `${Date.now().toString(36)}-${process.pid}`;
    let opened: OpenPool;
    let drawn = 0;
    beforeAll(async () => {
      opened = await open(() => NOW);
    });
    afterAll(() => opened?.close());

    const bench: PoolBench = {
      pool: () => opened.pool,
      createdBetween: () => opened.createdBetween,
      by: () => NOW + 60_000,
      partition: () => `2026-03-01T09:30#${run}-${++drawn}`,
    };
    poolWriteContract(bench);
    poolBatchContract(bench);
    countContract(bench);
    transactContract(bench);
    pageContract(bench);
    scanContract(bench);
  });
}
