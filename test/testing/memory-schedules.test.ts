import { memorySchedules } from "../../src/testing/memory-schedules.ts";
import { schedulesContract } from "../contract/schedules-contract.ts";

schedulesContract("in memory", async () => {
  const now = () => 1_772_357_400_000;
  const schedules = memorySchedules({ clock: now });
  return { schedules, now, inputOf: async (...asked) => schedules.inputOf(...asked), close: async () => {} };
});
