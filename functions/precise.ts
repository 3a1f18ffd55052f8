import { consumer } from "../consumer/consumer.ts";

/** Runs the example topic with `precision: "millisecond"`: logs when each job was due and when it started. */
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
