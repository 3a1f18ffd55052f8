import { expect, test } from "vitest";
import { scheduledEvent } from "../../../local/functions/scheduled-event.ts";

const NOON = Date.UTC(2026, 2, 12, 12);

test("a scheduled rule's event has the form of EventBridge's", () => {
  expect(scheduledEvent("arn:aws:events:eu-west-1:1:rule/r", NOON)).toMatchObject({
    "detail-type": "Scheduled Event",
    source: "aws.events",
    account: "1",
    region: "eu-west-1",
    time: "2026-03-12T12:00:00Z",
    resources: ["arn:aws:events:eu-west-1:1:rule/r"],
  });
});
