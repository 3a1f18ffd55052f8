import { randomUUID } from "node:crypto";

/** Makes the event that a scheduled rule sends to its target. `time` is in ms since the epoch. */
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
