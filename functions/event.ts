import { eventConsumer } from "../src/consumer/apply-events.ts";

export const handler = eventConsumer();
