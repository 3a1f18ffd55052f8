import type { BatchResultErrorEntry } from "@aws-sdk/client-sqs";
import { messageOf } from "../core/errors.ts";
import type { Sent } from "../protocol/ports.ts";
import { statusOf } from "./unknown.ts";

/** SQS's two protocols name it differently. */
const MISSING = /QueueDoesNotExist|NonExistentQueue/;
const CONTENT =
  /InvalidMessageContents|BatchRequestTooLong|InvalidParameterValue|InvalidAttributeValue|MissingParameter/;
/** The caller's credentials are not accepted, so it reaches no queue. */
const CREDENTIALS =
  /Credentials|UnrecognizedClient|InvalidClientTokenId|InvalidAccessKeyId|ExpiredToken|Signature|MissingAuthentication|NotAuthorized|(?<!Kms)OptInRequired|RequestExpired|InvalidSecurity/;

export function isContentError(thrown: unknown): boolean {
  return thrown instanceof Error && CONTENT.test(thrown.name);
}

/** The outcome for each message of a request that failed as a whole. */
export function outcomeOfError(thrown: unknown): Sent {
  const reason = `${thrown instanceof Error ? thrown.name : "error"}: ${messageOf(thrown)}`;
  const name = thrown instanceof Error ? thrown.name : "";
  const status = statusOf(thrown) ?? 0;
  // Errors of the network and of credentials come from the SDK without a status.
  if (status < 400 || status >= 500 || CREDENTIALS.test(name)) return { outcome: "unreachable", reason };
  if (MISSING.test(name)) return { outcome: "missing", reason };
  return { outcome: isContentError(thrown) ? "refused" : "failing", reason };
}

/** The outcome for a message that failed alone. Errors of permissions, KMS keys and throttling are `failing`: a later try may succeed. */
export function outcomeOfEntry({ Code = "", Message = "" }: BatchResultErrorEntry): Sent {
  const reason = `${Code}: ${Message}`;
  if (MISSING.test(Code)) return { outcome: "missing", reason };
  // `SenderFault` does not tell: LocalStack sets it to false for errors of content.
  return { outcome: CONTENT.test(Code) ? "refused" : "failing", reason };
}
