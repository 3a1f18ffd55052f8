/** Examples of requests, by `operationId`. A test validates each example by the call's own schema. */
export const EXAMPLES: Readonly<Record<string, unknown>> = {
  enqueue: { topic: "order-timeout", key: "order-17", delay: "30m", body: { orderId: "17" } },
  enqueueMany: {
    jobs: [
      { topic: "order-timeout", delay: "30m", body: { orderId: "17" } },
      { topic: "order-timeout", dueAt: "2027-01-02T09:00:00Z", body: { orderId: "18" } },
    ],
  },
  putJobByKey: { delay: "30m", body: { orderId: "17" } },
  reschedule: { delay: "2h" },
  cancelMany: { ids: ["01KGJPQM00T9B5Q2V3W4X5Y6Z7"] },
  bulk: { action: "cancel", topic: "order-timeout", tag: "sale", dryRun: true },
  erase: { tag: "customer-42", dryRun: true },
  pauseTopic: {},
  resumeTopic: { ratePerSecond: 10 },
  receive: { max: 10, waitSeconds: 20 },
  finish: { receipt: "the-receipt-of-receive" },
  extend: { receipt: "the-receipt-of-receive", seconds: 60 },
  retry: { receipt: "the-receipt-of-receive", delay: "5m", error: "the shop did not answer" },
  bury: { receipt: "the-receipt-of-receive", error: "there is no such order" },
  redrive: { max: 100 },
  dismiss: { ids: ["01KGJPQM00T9B5Q2V3W4X5Y6Z7"] },
  putSchedule: {
    topic: "reminders",
    expression: "cron(30 8 ? * MON-FRI *)",
    timezone: "Europe/Berlin",
    body: { text: "write the report" },
  },
  pauseSchedule: {},
  resumeSchedule: {},
  runSchedule: {},
};

export const PATH_EXAMPLES: Readonly<Record<string, string>> = {
  id: "01KGJPQM00T9B5Q2V3W4X5Y6Z7",
  topic: "order-timeout",
  key: "order-17",
  name: "daily-report",
};
