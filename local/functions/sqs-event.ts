import type { Message } from "@aws-sdk/client-sqs";

type Failures = { batchItemFailures?: { itemIdentifier?: unknown }[] | null } | null;

/** https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html */
export function sqsEvent(messages: readonly Message[], queueArn: string) {
  const awsRegion = queueArn.split(":")[3];
  return {
    Records: messages.map((message) => ({
      messageId: message.MessageId,
      receiptHandle: message.ReceiptHandle,
      body: message.Body,
      attributes: message.Attributes ?? {},
      messageAttributes: attributesOf(message),
      md5OfBody: message.MD5OfBody,
      eventSource: "aws:sqs",
      eventSourceARN: queueArn,
      awsRegion,
    })),
  };
}

function attributesOf({ MessageAttributes = {} }: Message): Record<string, object> {
  return Object.fromEntries(
    Object.entries(MessageAttributes).map(([name, { DataType, StringValue, BinaryValue }]) => [
      name,
      {
        dataType: DataType,
        ...(StringValue === undefined ? {} : { stringValue: StringValue }),
        ...(BinaryValue === undefined ? {} : { binaryValue: Buffer.from(BinaryValue).toString("base64") }),
        stringListValues: [],
        binaryListValues: [],
      },
    ]),
  );
}

/** The ids that a partial batch response leaves in the queue: all if it is invalid or names a message outside the batch. */
export function failedMessages(payload: string, messages: readonly Message[]): ReadonlySet<string> {
  const ids = new Set(messages.map(({ MessageId = "" }) => MessageId));
  const answer: Failures | string = JSON.parse(payload);
  if (answer === null || answer === "") return new Set();
  if (typeof answer !== "object") return ids;
  const failures = answer.batchItemFailures ?? [];
  if (!Array.isArray(failures)) return ids;
  const failed = failures.map((failure) => failure?.itemIdentifier);
  if (!failed.every((id): id is string => typeof id === "string" && ids.has(id))) return ids;
  return new Set(failed);
}
