import type { Client, Job } from "minutehand/client";
import type { Topics } from "../topics.ts";

/** Whoever has not looked at their shop for a week is reminded: each visit puts it off, though for a month at most. */
export function remindAfterAWeek(queue: Client<Topics>, shopId: string): Promise<Job> {
  const debounced = { onDuplicate: "postpone", maxDelay: "30d" } as const;
  return queue.enqueue("reminder", { shopId }, { key: shopId, delay: "7d", ...debounced });
}
