import { AwsError } from "../aws-error.ts";
import type { Item } from "./values.ts";

export function invalid(message: string): AwsError {
  return new AwsError("ValidationException", 400, message);
}

export function conditionFailed(item: Item | undefined): AwsError {
  return new AwsError("ConditionalCheckFailedException", 400, "The conditional request failed", {
    ...(item && { Item: item }),
  });
}

/** The error for a member or a statement that DynamoDB knows and this database does not. */
export function notPlayed(what: string): AwsError {
  return invalid(
    `the portable DynamoDB does not play ${what}; use --database native or AWS_ENDPOINT_URL_DYNAMODB`,
  );
}

export function orRefusal<T>(act: () => T): T | AwsError {
  try {
    return act();
  } catch (error) {
    if (error instanceof AwsError) return error;
    throw error;
  }
}
