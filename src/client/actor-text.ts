import type { ActorJson } from "../http/answers/actor.ts";

const KINDS: Readonly<Record<ActorJson["kind"], string>> = {
  caller: "a caller",
  event: "an event",
  schedule: "a schedule",
  bulk: "an action on many jobs",
  topic: "its topic's ifLate",
  sqs: "SQS's redrive of the DLQ",
  limit: "its topic's limit",
  pause: "a pause of its topic",
  window: "its topic's window",
};

/** Names who has changed a job or paused a topic, and why: `a caller (alice): a wrong price`. A later API may have more kinds. */
export function actorText({ kind, name, reason }: ActorJson): string {
  const who = `${KINDS[kind] ?? kind}${name === undefined ? "" : ` (${name})`}`;
  return reason === undefined ? who : `${who}: ${reason}`;
}
