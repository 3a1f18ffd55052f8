import { poolContract } from "../contract/pool-contract.ts";
import { memoryPool } from "./memory-pool.ts";

poolContract("in memory", async (clock) => {
  const createdAt = clock() - 1000;
  return {
    pool: memoryPool({ clock, createdAt }),
    createdBetween: [createdAt, createdAt],
    close: async () => {},
  };
});
