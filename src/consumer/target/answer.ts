import type { Invoked } from "../../aws/invoke.ts";
import { LONGEST_DELAY, LONGEST_UNTRACKED_WAIT } from "../../core/constants.ts";
import type { MessageJob } from "../../core/message.ts";
import { parseDuration } from "../../general/times.ts";
import type { Ending } from "../../protocol/run/settle.ts";
import { oneLineError } from "../error-text.ts";

/** A longer answer asks for nothing. Lambda takes answers of up to 6 MB, which would be slow to parse. */
const ANSWER_BYTES = 64 * 1024;
/** ms. A shorter wait could run the job again without end. */
const LEAST_WAIT = 1000;

type Answer = Exclude<Invoked, { throttled: string }>;

/** How a run has ended by the answer of its function. */
export function endingOf(
  { payload, functionError }: Answer,
  { untracked }: Pick<MessageJob, "untracked">,
): Ending {
  if (functionError !== undefined) return { end: "failed", error: failureOf(payload, functionError) };
  const { retryIn, bury } = fieldsOf(payload);
  if (isSet(bury)) {
    return typeof bury === "string"
      ? { end: "buried", error: oneLineError(bury) }
      : malformed("bury", "a text", bury);
  }
  if (!isSet(retryIn) || retryIn === 0) return { end: "done" };
  const wait =
    typeof retryIn === "number" || typeof retryIn === "string" ? parseDuration(retryIn) : undefined;
  if (
    wait !== undefined &&
    wait >= LEAST_WAIT &&
    wait <= (untracked ? LONGEST_UNTRACKED_WAIT : LONGEST_DELAY)
  )
    return { end: "retry-in", wait };
  const most = untracked ? "7 days, as the job is untracked" : "ten years";
  return malformed("retryIn", `seconds (1 or more) or a text such as "10m", at most ${most}`, retryIn);
}

function malformed(name: string, allowed: string, given: unknown): Ending {
  return {
    end: "failed",
    error: oneLineError(`the answer's ${name} takes ${allowed}, got ${JSON.stringify(given)}`),
  };
}

/** Languages without optional fields write null, an empty text, or 0 as a number of seconds, for a field that is not set. */
function isSet(field: unknown): boolean {
  return field !== undefined && field !== null && field !== "";
}

/** `ValueError: width must be more than 0`, as each of Lambda's runtimes tells an error. */
function failureOf(payload: Uint8Array, functionError: string): string {
  const { errorType, errorMessage } = fieldsOf(payload);
  const told = [errorType, errorMessage].filter((part) => typeof part === "string" && part !== "");
  return oneLineError(told.length > 0 ? told.join(": ") : `${functionError}: ${textOf(payload)}`);
}

function fieldsOf(payload: Uint8Array): Readonly<Record<string, unknown>> {
  if (payload.length > ANSWER_BYTES) return {};
  try {
    const answer: unknown = JSON.parse(textOf(payload));
    return typeof answer === "object" && answer !== null ? (answer as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** The beginning is enough for an error. */
function textOf(payload: Uint8Array): string {
  return Buffer.from(payload.subarray(0, ANSWER_BYTES)).toString();
}
