import type { Context, SQSEvent } from "aws-lambda";
import { expect, test } from "vitest";
import { targetConsumer } from "../../src/consumer/target.ts";

const ENVIRONMENT = {
  MINUTEHAND_TABLE: "jobs",
  MINUTEHAND_QUEUE_URL_PREFIX: "https://sqs/1/minutehand-",
  MINUTEHAND_POLICY: JSON.stringify({ topics: { thumbnail: {} } }),
  MINUTEHAND_TARGET: "arn:aws:lambda:us-east-1:123456789012:function:thumbnail",
  MINUTEHAND_TARGET_TIMEOUT: "30",
};

test("the caller of a target starts with what the deployment gives it", async () => {
  const context = { getRemainingTimeInMillis: () => 250_000 } as Context;
  const handler = targetConsumer(ENVIRONMENT);
  expect(await handler({ Records: [] } as SQSEvent, context)).toEqual({ batchItemFailures: [] });
});

test.each(["MINUTEHAND_TARGET", "MINUTEHAND_TARGET_TIMEOUT"])("the caller of a target needs %s", (name) => {
  expect(() => targetConsumer({ ...ENVIRONMENT, [name]: undefined })).toThrow(`variable ${name} must be set`);
});
