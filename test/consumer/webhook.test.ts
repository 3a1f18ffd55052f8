import type { Context, SQSEvent } from "aws-lambda";
import { afterEach, expect, test } from "vitest";
import { webhookConsumer } from "../../src/consumer/webhook.ts";
import { useEndpoint } from "../aws/emulators.ts";
import { error, ok, type ScriptedService, scriptedService } from "../aws/scripted-service.ts";

const ENVIRONMENT = {
  MINUTEHAND_TABLE: "jobs",
  MINUTEHAND_QUEUE_URL_PREFIX: "https://sqs/1/minutehand-",
  MINUTEHAND_POLICY: JSON.stringify({ topics: { hooks: { webhook: {} } } }),
  MINUTEHAND_WEBHOOK_TOPIC: "hooks",
  MINUTEHAND_WEBHOOK_SECRET: "arn:aws:secretsmanager:us-east-1:123456789012:secret:hooks",
};
const NONE = { Records: [] } as SQSEvent;
const LAMBDA = { getRemainingTimeInMillis: () => 30_000 } as Context;

let service: ScriptedService | undefined;
afterEach(async () => {
  // Other test files run in the same process.
  delete process.env.AWS_ENDPOINT_URL_SECRETS_MANAGER;
  await service?.close();
});

test("a webhook's function reads the secret that its environment names, before all else", async () => {
  service = await scriptedService(() => ok({ SecretString: "A".repeat(44) }));
  useEndpoint("SECRETS_MANAGER", service.endpoint);
  expect(await webhookConsumer(ENVIRONMENT)(NONE, LAMBDA)).toEqual({ batchItemFailures: [] });
  const asked = service.requests.map(({ input }) => input.SecretId);
  expect(asked).toEqual([ENVIRONMENT.MINUTEHAND_WEBHOOK_SECRET, ENVIRONMENT.MINUTEHAND_WEBHOOK_SECRET]);
});

test("a webhook's function fails as a whole while it has no secret", async () => {
  service = await scriptedService(() => error(400, "AccessDeniedException"));
  useEndpoint("SECRETS_MANAGER", service.endpoint);
  await expect(webhookConsumer(ENVIRONMENT)(NONE, LAMBDA)).rejects.toThrow("cannot be read");
});

test.each(["MINUTEHAND_WEBHOOK_TOPIC", "MINUTEHAND_WEBHOOK_SECRET"])(
  "a webhook's function needs %s",
  (name) => {
    expect(() => webhookConsumer({ ...ENVIRONMENT, [name]: undefined })).toThrow(
      `variable ${name} must be set`,
    );
  },
);
