import type { BatchResultErrorEntry } from "@aws-sdk/client-sqs";
import { messageOf } from "../core/errors.ts";
import type { Sent } from "../protocol/ports.ts";
import { statusOf } from "./unknown.ts";

/** SQS names this error differently in its two protocols: `QueueDoesNotExist`, `AWS.SimpleQueueService.NonExistentQueue`. */
const MISSING = /QueueDoesNotExist|NonExistentQueue/;
const CONTENT =
  /InvalidMessageContents|BatchRequestTooLong|InvalidParameterValue|InvalidAttributeValue|MissingParameter/;
/** AWS does not accept the caller's credentials, so the caller reaches no queue. */
const CREDENTIALS =
  /Credentials|UnrecognizedClient|InvalidClientTokenId|InvalidAccessKeyId|ExpiredToken|Signature|MissingAuthentication|NotAuthorized|(?<!Kms)OptInRequired|RequestExpired|InvalidSecurity/;

/** Whether SQS rejected a request because of the content of a message. */
export function isContentError(thrown: unknown): boolean {
  return thrown instanceof Error && CONTENT.test(thrown.name);
}

/** The outcome for each message of a request that failed as a whole. */
export function outcomeOfError(thrown: unknown): Sent {
  const reason = `${thrown instanceof Error ? thrown.name : "error"}: ${messageOf(thrown)}`;
  const name = thrown instanceof Error ? thrown.name : "";
  const status = statusOf(thrown) ?? 0;
  // Errors of the network and of the look-up of credentials come from the SDK, and have no status.
  if (status < 400 || status >= 500 || CREDENTIALS.test(name)) return { outcome: "unreachable", reason };
  if (MISSING.test(name)) return { outcome: "missing", reason };
  return { outcome: isContentError(thrown) ? "refused" : "failing", reason };
}

/** The outcome for a message that failed alone. Errors of permissions, KMS keys and throttling are `failing`: a later try may succeed. */
export function outcomeOfEntry({ Code = "", Message = "" }: BatchResultErrorEntry): Sent {
  const reason = `${Code}: ${Message}`;
  if (MISSING.test(Code)) return { outcome: "missing", reason };
  // Do not look at `SenderFault`, because LocalStack sets it to false for errors of content.
  return { outcome: CONTENT.test(Code) ? "refused" : "failing", reason };
}
