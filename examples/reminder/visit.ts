import type { Client, Job } from "minutehand/client";
import type { Topics } from "../topics.ts";

/** Reminds an owner who has not visited the shop for a week. Each visit postpones the reminder, up to a month in all. */
export function remindAfterAWeek(queue: Client<Topics>, shopId: string): Promise<Job> {
  const debounced = { onDuplicate: "postpone", maxDelay: "30d" } as const;
  return queue.enqueue("reminder", { shopId }, { key: shopId, delay: "7d", ...debounced });
}
