import { consumer } from "../../../src/consumer/consumer.ts";
import type { Body } from "../load.ts";
import { runJob } from "../run-job.ts";

/** The Lambda consumer of the topics `reminders` and `precise`. */
export const handler = consumer<Body>(async ({ id, attempt, dueAt, body }) => {
  if ((await runJob({ id, attempt, dueAt: dueAt.getTime(), body })) === "failed")
    throw new Error("on purpose");
});
