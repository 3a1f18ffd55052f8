import { consumer } from "minutehand/consumer";
import { shop } from "../shop.ts";
import type { Topics } from "../topics.ts";

export const handler = consumer<Topics, "reminder">(async ({ body, signal }) => {
  await shop.sendReminder(body.shopId, signal);
});
