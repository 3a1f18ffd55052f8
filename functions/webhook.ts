import { webhookConsumer } from "../consumer/webhook.ts";

/** Runs a webhook topic's jobs: each is a signed call of its receiver. */
export const handler = webhookConsumer();
