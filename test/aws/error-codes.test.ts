import * as dynamo from "@aws-sdk/client-dynamodb";
import * as sqs from "@aws-sdk/client-sqs";
import { expect, test } from "vitest";
import { outcomeOfError } from "../../src/aws/send-outcomes.ts";
import { isUnknownCode, UNKNOWN_CODES } from "../../src/aws/unknown.ts";

/** The names of the errors that a service's model has: its client exports a class for each. */
function errorsOf(client: object, base: { prototype: object }): string[] {
  const isError = (one: unknown): boolean =>
    typeof one === "function" && one.prototype instanceof (base as never);
  return Object.entries(client).flatMap(([name, one]) => (isError(one) ? name : []));
}

/**
 * The error codes of a batch statement. `refused`: the condition of the statement did not hold. `unknown`: the statement may or may
 * not have been applied. `fault`: the statement fails until a person corrects something.
 */
const STATEMENTS: Record<string, "refused" | "unknown" | "fault"> = {
  AccessDenied: "fault",
  ConditionalCheckFailed: "refused",
  DuplicateItem: "refused",
  InternalServerError: "unknown",
  ItemCollectionSizeLimitExceeded: "fault",
  ProvisionedThroughputExceeded: "unknown",
  RequestLimitExceeded: "unknown",
  ResourceNotFound: "fault",
  ThrottlingError: "unknown",
  TransactionConflict: "unknown",
  ValidationError: "fault",
};

/** The errors of DynamoDB after which a call is retried. */
const REPEATABLE = [
  "InternalServerError",
  "ProvisionedThroughputExceededException",
  "ReplicatedWriteConflictException",
  "RequestLimitExceeded",
  "ThrottlingException",
  "TransactionConflictException",
  "TransactionInProgressException",
];
/** Codes in the reasons of a cancelled transaction ("TransactWriteItems", DynamoDB API Reference). The model lists no codes for them. */
const WITHOUT_MODEL = ["ProvisionedThroughputExceeded", "ThrottlingError", "TransactionConflict"];
/** Codes that every AWS service may answer. The model does not list them. */
const COMMON = ["ServiceUnavailable", "Throttling"];

test("the table has each code that DynamoDB's model lists for a statement, and exactly its `unknown` codes are retried", () => {
  expect(Object.keys(STATEMENTS).sort()).toEqual(Object.values(dynamo.BatchStatementErrorCodeEnum).sort());
  const unknown = Object.keys(STATEMENTS).filter((code) => STATEMENTS[code] === "unknown");
  expect(Object.keys(STATEMENTS).filter(isUnknownCode)).toEqual(unknown);
});

test("of all errors in DynamoDB's model, exactly those that leave the outcome unknown are retried", () => {
  const errors = errorsOf(dynamo, dynamo.DynamoDBServiceException);
  expect(errors.length).toBeGreaterThan(30);
  expect(errors.filter(isUnknownCode).sort()).toEqual(REPEATABLE);
});

test("each code that is retried is a code of AWS", () => {
  const codes = [...Object.keys(STATEMENTS), ...REPEATABLE, ...WITHOUT_MODEL, ...COMMON];
  expect([...UNKNOWN_CODES].filter((code) => !codes.includes(code))).toEqual([]);
});

test("each error in SQS's model has the right outcome for a message", () => {
  const outcomes: Record<string, string[]> = {};
  for (const name of errorsOf(sqs, sqs.SQSServiceException)) {
    const error = Object.assign(new Error("refused"), { name, $metadata: { httpStatusCode: 400 } });
    const { outcome } = outcomeOfError(error);
    outcomes[outcome] = [...(outcomes[outcome] ?? []), name];
  }
  const { failing, ...others } = outcomes;
  expect(others).toEqual({
    missing: ["QueueDoesNotExist"],
    refused: ["BatchRequestTooLong", "InvalidAttributeValue", "InvalidMessageContents"],
    unreachable: ["InvalidSecurity"],
  });
  // These errors concern one queue or one call, and a later try may succeed.
  expect(failing).toEqual(
    expect.arrayContaining([
      "KmsAccessDenied",
      "KmsOptInRequired",
      "KmsThrottled",
      "OverLimit",
      "RequestThrottled",
    ]),
  );
});
