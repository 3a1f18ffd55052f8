import { webhookConsumer } from "../src/consumer/webhook.ts";

export const handler = webhookConsumer();
