import { truncate } from "../general/text.ts";
import { ACTOR_NAME_BYTES, REASON_BYTES } from "./constants.ts";

/** The parts of a topic that can give a job a later start. */
const HOLDERS = ["limit", "pause", "window"] as const;
export type Holder = (typeof HOLDERS)[number];

/**
 * What has changed a job or paused a topic: a caller, an event of EventBridge, a recurring schedule, a bulk of a caller, the topic's own setting
 * `ifLate`, SQS's redrive of a DLQ, or what holds jobs.
 */
export const ACTOR_KINDS = ["caller", "event", "schedule", "bulk", "topic", "sqs", ...HOLDERS] as const;

/**
 * `name`: of a caller or a bulk: the session of AWS that signed the call, or the name that the API's authorizer gave; of an event: its id; of a
 * schedule: its name. `reason`: what the caller has said. Both are cut to fit, because each move writes the whole log.
 */
export type Actor = { kind: (typeof ACTOR_KINDS)[number]; name?: string; reason?: string };

type Said = { readonly name?: string | undefined; readonly reason?: string | undefined };

export function actorOf(kind: Actor["kind"], { name, reason }: Said = {}): Actor {
  return {
    kind,
    ...(name !== undefined && { name: truncate(name, ACTOR_NAME_BYTES) }),
    ...(reason !== undefined && { reason: truncate(reason, REASON_BYTES) }),
  };
}

/** The session of an assumed role or the name of an IAM user, if an ARN has signed the request. Otherwise the name that an authorizer gave. */
export function callerName(caller: string): string {
  if (!caller.startsWith("arn:")) return caller;
  return caller.slice(Math.max(caller.lastIndexOf("/"), caller.lastIndexOf(":")) + 1);
}
