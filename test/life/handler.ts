import { consumer } from "../../src/consumer/consumer.ts";

export const handler = consumer(async () => {});
