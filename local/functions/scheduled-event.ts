import { randomUUID } from "node:crypto";

/** `time`: ms since the epoch. */
export function scheduledEvent(ruleArn: string, time: number) {
  const [, , , region, account] = ruleArn.split(":");
  return {
    version: "0",
    id: randomUUID(),
    "detail-type": "Scheduled Event",
    source: "aws.events",
    account,
    time: `${new Date(time).toISOString().slice(0, 19)}Z`,
    region,
    resources: [ruleArn],
    detail: {},
  };
}
