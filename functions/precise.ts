import { consumer } from "../consumer/consumer.ts";

/** The app's example of `precision: "millisecond"`: logs when each job was due and when it started. */
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
