import { memoryPool } from "../../src/testing/memory-pool.ts";
import { poolContract } from "../contract/pool-contract.ts";

poolContract("in memory", async (clock) => {
  const createdAt = clock() - 1000;
  return {
    pool: memoryPool({ clock, createdAt }),
    createdBetween: [createdAt, createdAt],
    close: async () => {},
  };
});
