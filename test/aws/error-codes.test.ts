import * as dynamo from "@aws-sdk/client-dynamodb";
import * as sqs from "@aws-sdk/client-sqs";
import { expect, test } from "vitest";
import { outcomeOfError } from "../../aws/send-outcomes.ts";
import { isUnknownCode, UNKNOWN_CODES } from "../../aws/unknown.ts";

/** The names of the errors that a service's model has: its client exports a class for each. */
function errorsOf(client: object, base: { prototype: object }): string[] {
  const isError = (one: unknown): boolean =>
    typeof one === "function" && one.prototype instanceof (base as never);
  return Object.entries(client).flatMap(([name, one]) => (isError(one) ? name : []));
}

/** What each code of a statement means: it is not applied, nobody knows, or somebody has to mend something. */
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

/** What DynamoDB may throw for a call that may be repeated. */
const REPEATABLE = [
  "InternalServerError",
  "ProvisionedThroughputExceededException",
  "ReplicatedWriteConflictException",
  "RequestLimitExceeded",
  "ThrottlingException",
  "TransactionConflictException",
  "TransactionInProgressException",
];
/** Codes that no model has: of cancelled transactions ("TransactWriteItems", API reference), and what all services may answer. */
const WITHOUT_MODEL = ["ProvisionedThroughputExceeded", "ThrottlingError", "TransactionConflict"];
const COMMON = ["ServiceUnavailable", "Throttling"];

test("each code that DynamoDB's model has for a statement is decided about", () => {
  expect(Object.keys(STATEMENTS).sort()).toEqual(Object.values(dynamo.BatchStatementErrorCodeEnum).sort());
  const unknown = Object.keys(STATEMENTS).filter((code) => STATEMENTS[code] === "unknown");
  expect(Object.keys(STATEMENTS).filter(isUnknownCode)).toEqual(unknown);
});

test("of all errors that DynamoDB's model has, those are repeated that decide nothing", () => {
  const errors = errorsOf(dynamo, dynamo.DynamoDBServiceException);
  expect(errors.length).toBeGreaterThan(30);
  expect(errors.filter(isUnknownCode).sort()).toEqual(REPEATABLE);
});

test("no code is known here that AWS does not have", () => {
  const codes = [...Object.keys(STATEMENTS), ...REPEATABLE, ...WITHOUT_MODEL, ...COMMON];
  expect([...UNKNOWN_CODES].filter((code) => !codes.includes(code))).toEqual([]);
});

test("each error that SQS's model has is decided about", () => {
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
  // They are about one queue or one call, and may come right again.
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
