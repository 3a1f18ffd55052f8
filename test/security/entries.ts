/** The functions, by the beginning of their names in the template, and the file that each is bundled from. */
export const ENTRIES = {
  JobsApiHandler: "functions/api.ts",
  JobsApiReceive: "functions/receive.ts",
  JobsTickSweeper: "functions/tick.ts",
  JobsPromotionsPromote: "functions/promote.ts",
  JobsRecurringOccurrence: "functions/occurrence.ts",
  JobsWebhookhooksCaller: "functions/webhook.ts",
  CopyTargetcopiesCaller: "functions/target.ts",
  JobsEventsApplier: "functions/event.ts",
  Orders: "functions/reminders.ts",
  Precise: "functions/reminders.ts",
  Notes: "functions/reminders.ts",
  Shop: "src/client/direct-client.ts",
  Worker: "src/client/direct-worker.ts",
} as const;

export type FunctionName = keyof typeof ENTRIES;
