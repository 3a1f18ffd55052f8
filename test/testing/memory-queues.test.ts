import { memoryQueues } from "../../src/testing/memory-queues.ts";
import { numbers } from "../contract/contract-items.ts";
import { queuesContract } from "../contract/queues-contract.ts";

queuesContract("in memory", async () => {
  let now = 1_772_357_400_000;
  const unused = numbers(0, 80).map((n) => `topic-${n}`);
  const queues = memoryQueues({ clock: () => now, topics: unused });
  return {
    queues,
    topic: async () => unused.pop() ?? "",
    groups: async (topic) => queues.messages({ topic }).map(({ group }) => group),
    async pass(seconds) {
      now += seconds * 1000;
    },
    close: async () => {},
  };
});
