import type { MessageJob } from "../core/message.ts";
import { type Failure, inSpan } from "../environment/tracing.ts";
import type { RunEnding } from "./run-jobs.ts";

/**
 * Runs a job in a span whose parent is the span in which the job was filed, as its `traceparent` says. The attributes have the names of
 * "Semantic conventions for messaging spans", OpenTelemetry.
 */
export function continueTrace(
  { id, attempt }: Pick<MessageJob, "id" | "attempt">,
  topic: string,
  traceparent: string,
  run: () => Promise<RunEnding>,
): Promise<RunEnding> {
  const attributes = {
    "messaging.system": "minutehand",
    "messaging.operation.name": "process",
    "messaging.operation.type": "process",
    "messaging.destination.name": topic,
    "messaging.message.id": id,
    "minutehand.attempt": attempt,
  };
  return inSpan(traceparent, { name: `process ${topic}`, attributes }, run, failureOf);
}

function failureOf(ending: RunEnding): Failure | undefined {
  if (!("error" in ending)) return undefined;
  const { error: message, thrown } = ending;
  if (!thrown) return { message };
  return { message, exception: thrown.value instanceof Error ? thrown.value : message };
}
