import { type AttributeValue, QueryCommand, type QueryCommandOutput } from "@aws-sdk/client-dynamodb";
import { bucketOf } from "../../src/core/item-keys.ts";
import { SIZES } from "../../src/core/work-sizes.ts";
import { topicPolicy } from "../../src/settings/policy.ts";
import type { PlainClients } from "./plain-clients.ts";
import { type PlainMessage, sendAll } from "./plain-queue.ts";

const { pack: PACK } = topicPolicy({});

type Items = readonly Record<string, AttributeValue>[];

export async function sweepPlainly(
  { dynamo, sqs }: PlainClients,
  {
    table,
    url,
    topic,
    minute,
    shard,
  }: { table: string; url: string; topic: string; minute: number; shard: number },
): Promise<void> {
  let from: Record<string, AttributeValue> | undefined;
  do {
    const page: QueryCommandOutput = await dynamo.send(
      new QueryCommand({
        TableName: table,
        ConsistentRead: true,
        KeyConditionExpression: "pk = :pk",
        ExpressionAttributeValues: { ":pk": { S: bucketOf(minute, shard) } },
        Limit: SIZES.page,
        ExclusiveStartKey: from,
      }),
    );
    await sendAll(sqs, url, messagesOf(topic, page.Items ?? []));
    from = page.LastEvaluatedKey;
  } while (from);
}

/** The messages that the sweep makes of these homes. Reads only the attributes that the benchmark's homes have. */
function messagesOf(topic: string, items: Items): PlainMessage[] {
  const seconds = Map.groupBy(items, ({ dueAt }) => dueAt?.N?.slice(0, -3));
  const messages: PlainMessage[] = [];
  for (const mates of seconds.values()) {
    for (let at = 0; at < mates.length; at += PACK) {
      const jobs = mates.slice(at, at + PACK).map(textOf);
      messages.push({
        body: `{"v":1,"topic":"${topic}","jobs":[${jobs.join(",")}]}`,
        delaySeconds: DELAY_SECONDS,
      });
    }
  }
  return messages;
}

/** Any delay: all cost the same. */
const DELAY_SECONDS = 120;

function textOf({ id, dueAt, body }: Items[number]): string {
  const time = new Date(Number(dueAt?.N)).toISOString();
  return `{"id":"${id?.S}","revision":0,"attempt":1,"dueAt":"${time}","body":${body?.S}}`;
}
