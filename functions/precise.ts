import { consumer } from "../src/consumer/consumer.ts";

/** The example topic with `precision: "millisecond"`. */
export const handler = consumer(async (job) => {
  const startedAt = new Date().toISOString();
  console.log(
    JSON.stringify({
      level: "INFO",
      message: "precise",
      topic: job.topic,
      id: job.id,
      dueAt: job.dueAt.toISOString(),
      startedAt,
    }),
  );
});
