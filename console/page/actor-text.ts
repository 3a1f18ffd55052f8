import type { JobJson } from "../../src/http/answers.ts";

type Actor = NonNullable<JobJson["timeline"][number]["by"]>;

const KINDS: Readonly<Record<Actor["kind"], string>> = {
  caller: "a caller",
  event: "an event",
  schedule: "a schedule",
  bulk: "a bulk",
  topic: "its topic's ifLate",
  sqs: "SQS's redrive of the DLQ",
};

/** Names who has changed a job or paused a topic, and why. */
export function actorText({ kind, name, reason }: Actor): string {
  const who = `by ${KINDS[kind] ?? kind}${name === undefined ? "" : ` (${name})`}`;
  return reason === undefined ? who : `${who}: ${reason}`;
}
