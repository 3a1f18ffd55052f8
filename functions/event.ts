import { eventConsumer } from "../consumer/apply-events.ts";

/** Does what topics say about EventBridge's events: cancels and files jobs by their keys. */
export const handler = eventConsumer();
