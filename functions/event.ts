import { eventConsumer } from "../consumer/apply-events.ts";

/** Applies the topics' rules to events of EventBridge: cancels and files jobs by their keys. */
export const handler = eventConsumer();
