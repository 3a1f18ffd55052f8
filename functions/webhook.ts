import { webhookConsumer } from "../consumer/webhook.ts";

/** Runs the jobs of a webhook topic: each run is a signed call to the job's receiver. */
export const handler = webhookConsumer();
