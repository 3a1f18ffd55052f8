import { truncate } from "../general/text.ts";
import { messageOf, ownMessageOf } from "./errors.ts";

/** What a log says of a thrown value. Other fields of an error are left out: errors of HTTP clients contain headers with secrets. */
export type Thrown = {
  readonly name?: string;
  readonly message: string;
  readonly stack?: string;
  readonly cause?: Thrown;
};

/** So begins the error of a run that could not begin, because the target of its topic is throttled. */
export const THROTTLED = "throttled: ";

/** How many causes a log shows. An error can be its own cause. */
const DEEPEST_CAUSE = 8;
/** Far more than a readable message or ten frames take. Lambda cuts a line of the log at 256 KiB. */
const MESSAGE_BYTES = 2048;
const FRAMES_BYTES = 8192;

/** Describes anything that was thrown. If there are several causes, the first one counts. Never throws. */
export function describeThrown(thrown: unknown, deeper = DEEPEST_CAUSE): Thrown {
  const whole = textOf(thrown);
  const message = truncate(whole, MESSAGE_BYTES);
  const [name, stack, cause] = [read(thrown, "name"), read(thrown, "stack"), causeOf(thrown)];
  if (typeof stack !== "string") return { message };
  return {
    ...(typeof name === "string" ? { name: truncate(name, MESSAGE_BYTES) } : {}),
    message,
    stack: boundedStack(stack, whole),
    ...(cause === undefined || deeper === 0 ? {} : { cause: describeThrown(cause, deeper - 1) }),
  };
}

/** The message of a thrown value. An object without a message has no text here, because its fields may be secrets. */
function textOf(thrown: unknown): string {
  try {
    if (typeof thrown === "object" && thrown !== null)
      return ownMessageOf(thrown) ?? "an object without a message";
  } catch {
    // A getter throws. Then the value has no text.
  }
  return messageOf(thrown);
}

/** Cuts the message at the head of a stack to `MESSAGE_BYTES`, and the frames below the message to `FRAMES_BYTES`. */
function boundedStack(stack: string, message: string): string {
  const found = stack.indexOf(message);
  if (found === -1) return truncate(stack, FRAMES_BYTES);
  const head = truncate(stack.slice(0, found), MESSAGE_BYTES) + truncate(message, MESSAGE_BYTES);
  return head + truncate(stack.slice(found + message.length), FRAMES_BYTES);
}

function causeOf(thrown: unknown): unknown {
  // The first error of an `AggregateError`. Without a first error, the `cause`.
  return read(read(thrown, "errors"), "0") ?? read(thrown, "cause");
}

/** Reads a field of a thrown value. A getter that throws counts as a missing field. */
function read(thrown: unknown, field: string): unknown {
  try {
    return (thrown as Record<string, unknown> | null | undefined)?.[field];
  } catch {
    return undefined;
  }
}

/** The place at the end of a job's error, such as ` (close-order.ts:12)`. */
const PLACE = / \([^()\n]+:\d+\)$/;
/** The longest place of an error, in characters. `ownPlaceOf` in `src/environment/` makes shorter places. */
const LONGEST_PLACE = 100;

/** Splits a job's error into its text and its place. The place is empty if the error has none. */
export function splitPlace(error: string): [text: string, place: string] {
  const [place = ""] = PLACE.exec(error.slice(-LONGEST_PLACE)) ?? [];
  return [error.slice(0, error.length - place.length), place];
}

/** Cuts a job's error to `bytes` of UTF-8. Cuts the text only, so that the place stays. A place that is too long is cut too. */
export function truncateError(error: string, bytes: number): string {
  const [text, place] = splitPlace(error);
  const left = bytes - Buffer.byteLength(place);
  return left > 0 ? truncate(text, left) + place : truncate(error, bytes);
}
