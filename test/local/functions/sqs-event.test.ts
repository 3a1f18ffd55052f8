import { expect, test } from "vitest";
import { failedMessages, sqsEvent } from "../../../local/functions/sqs-event.ts";

const messages = [
  { MessageId: "a", ReceiptHandle: "ha", Body: "1" },
  { MessageId: "b", ReceiptHandle: "hb", Body: "2" },
];

test.each([
  ["nothing", "null", []],
  ["an empty list", '{"batchItemFailures":[]}', []],
  ["no list", "{}", []],
  ["a null list", '{"batchItemFailures":null}', []],
  ["one of them", '{"batchItemFailures":[{"itemIdentifier":"b"}]}', ["b"]],
  ["an unknown one", '{"batchItemFailures":[{"itemIdentifier":"c"}]}', ["a", "b"]],
  ["one without a name", '{"batchItemFailures":[{"itemIdentifier":""}]}', ["a", "b"]],
  ["a wrong key", '{"batchItemFailures":[{"id":"a"}]}', ["a", "b"]],
  ["no list at all", '{"batchItemFailures":{"itemIdentifier":"a"}}', ["a", "b"]],
  ["a number", "7", ["a", "b"]],
])("an answer that names %s", (_, payload, failed) => {
  expect([...failedMessages(payload, messages)]).toEqual(failed);
});

test("an event names queue, region and message attributes as Lambda does", () => {
  const [message] = messages;
  const attributes = { kind: { DataType: "String", StringValue: "x" } };
  const event = sqsEvent([{ ...message, MessageAttributes: attributes }], "arn:aws:sqs:eu-west-1:0:q");
  expect(event.Records[0]).toMatchObject({
    messageId: "a",
    receiptHandle: "ha",
    body: "1",
    awsRegion: "eu-west-1",
    eventSource: "aws:sqs",
    messageAttributes: { kind: { dataType: "String", stringValue: "x" } },
  });
});
