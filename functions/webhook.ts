import { webhookConsumer } from "../consumer/webhook.ts";

export const handler = webhookConsumer();
