import type { BatchResultErrorEntry } from "@aws-sdk/client-sqs";
import { messageOf } from "../core/errors.ts";
import type { Sent } from "../protocol/ports.ts";
import { statusOf } from "./unknown.ts";

/** SQS says these under two protocols' names, such as `AWS.SimpleQueueService.NonExistentQueue`. */
const MISSING = /QueueDoesNotExist|NonExistentQueue/;
const CONTENT =
  /InvalidMessageContents|BatchRequestTooLong|InvalidParameterValue|InvalidAttributeValue|MissingParameter/;
/** The caller is not known, so no queue can be reached. */
const CREDENTIALS =
  /Credentials|UnrecognizedClient|InvalidClientTokenId|InvalidAccessKeyId|ExpiredToken|Signature|MissingAuthentication|NotAuthorized|(?<!Kms)OptInRequired|RequestExpired|InvalidSecurity/;

/** Whether a request was rejected for what is in a message. */
export function isContentError(thrown: unknown): boolean {
  return thrown instanceof Error && CONTENT.test(thrown.name);
}

/** What a request that failed as a whole means for its messages. */
export function outcomeOfError(thrown: unknown): Sent {
  const reason = `${thrown instanceof Error ? thrown.name : "error"}: ${messageOf(thrown)}`;
  const name = thrown instanceof Error ? thrown.name : "";
  const status = statusOf(thrown) ?? 0;
  // The SDK raises problems with credentials and the network itself, without an answer's status.
  if (status < 400 || status >= 500 || CREDENTIALS.test(name)) return { outcome: "unreachable", reason };
  if (MISSING.test(name)) return { outcome: "missing", reason };
  return { outcome: isContentError(thrown) ? "refused" : "failing", reason };
}

/** What an entry's failure in an answered request means. Permission, keys and throttling may come right again. */
export function outcomeOfEntry({ Code = "", Message = "" }: BatchResultErrorEntry): Sent {
  const reason = `${Code}: ${Message}`;
  if (MISSING.test(Code)) return { outcome: "missing", reason };
  // Not `SenderFault`: LocalStack says false of contents too.
  return { outcome: CONTENT.test(Code) ? "refused" : "failing", reason };
}
