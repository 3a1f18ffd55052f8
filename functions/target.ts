import { targetConsumer } from "../src/consumer/target.ts";

export const handler = targetConsumer();
