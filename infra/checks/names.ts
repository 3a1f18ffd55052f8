import { Token } from "aws-cdk-lib";
import type { Check } from "../../src/core/check.ts";
import type { DelayQueueProps } from "../props.ts";

type Form = { readonly is: string; readonly form: RegExp; readonly allowed: string };

/** The names and ARNs of what AWS already has. A deployment would refuse other ones, or its functions would not find what they name. */
export const AWS_NAMES = {
  /** "Naming rules", Amazon DynamoDB Developer Guide. */
  table: {
    is: "the name of a DynamoDB table",
    form: /^[\w.-]{3,255}$/,
    allowed: "3 to 255 letters, digits, _, - and .",
  },
  /** `Name` of "CreateEventBus", Amazon EventBridge API Reference. Only the names of partner buses have slashes. */
  eventBus: {
    is: "the name of an event bus",
    form: /^[\w./-]{1,256}$/,
    allowed: "1 to 256 letters, digits, ., -, _ and /",
  },
  /** `KeyId` of "DescribeKey", AWS KMS API Reference. A policy does not take the ARN of an alias. */
  encryptionKey: arn("a KMS key", "kms", /key\/[\w-]+/, "key/1234abcd-12ab-34cd-56ef-1234567890ab"),
  /** `Name` of "CreateTopic", Amazon SNS API Reference. */
  alarmTopic: arn("an SNS topic", "sns", /[\w-]{1,256}(\.fifo)?/, "on-call"),
  /** `FunctionName` of "Invoke", AWS Lambda API Reference. */
  target: arn("a Lambda function", "lambda", /function:[\w-]+(:(\$LATEST|[\w-]+))?/, "function:receipt"),
} satisfies Record<string, Form>;

/** "Amazon Resource Names (ARNs)", AWS IAM User Guide. */
function arn(what: string, service: string, resource: RegExp, example: string): Form {
  return {
    is: `the ARN of ${what}`,
    form: new RegExp(`^arn:aws[a-z-]*:${service}:[a-z]+(-[a-z]+)+-\\d+:\\d{12}:${resource.source}$`),
    allowed: `such as arn:aws:${service}:eu-central-1:111122223333:${example}`,
  };
}

/** The rule that a text has the form that AWS asks for. Synth does not know the text of a token. */
export function nameCheck(at: string, of: keyof typeof AWS_NAMES, actual: unknown): Check {
  const { is, form, allowed } = AWS_NAMES[of];
  const holds = typeof actual !== "string" || Token.isUnresolved(actual) || form.test(actual);
  return { holds, rule: `${at} must be ${is}`, actual, allowed };
}

export function namesChecks({ table, eventBus, encryptionKey, alarmTopic }: DelayQueueProps): Check[] {
  return [
    nameCheck("table", "table", table?.tableName),
    nameCheck("eventBus", "eventBus", eventBus?.eventBusRef?.eventBusName),
    nameCheck("encryptionKey", "encryptionKey", encryptionKey?.keyArn),
    nameCheck("alarmTopic", "alarmTopic", alarmTopic?.topicArn),
  ];
}
