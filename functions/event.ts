import { eventConsumer } from "../consumer/apply-events.ts";

export const handler = eventConsumer();
