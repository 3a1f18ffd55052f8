import { consumer } from "../../consumer/consumer.ts";

export const handler = consumer(async () => {});
