import { consumer } from "../../sdk/consumer.ts";

export const handler = consumer(async () => {});
