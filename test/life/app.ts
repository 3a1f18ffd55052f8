import { tmpdir } from "node:os";
import { join } from "node:path";
import { App, Duration, Stack } from "aws-cdk-lib";
import { Table } from "aws-cdk-lib/aws-dynamodb";
import { Function as LambdaFunction, Runtime } from "aws-cdk-lib/aws-lambda";
import { CfnQueue } from "aws-cdk-lib/aws-sqs";
import { DelayQueue } from "../../infra/delay-queue.ts";
import { handlerCode } from "../../infra/handler.ts";
import { type Life, STACK } from "./life.ts";

/** The app of a user, as the context value `life` (`-c life=…`) describes it. */
const app = new App();
const {
  id,
  topics,
  timeout = 60,
  table,
  hasAliases,
  isBroken,
  hasSecond,
}: Life = JSON.parse(app.node.tryGetContext("life"));
const stack = new Stack(app, STACK);

function queueOf(id: string, prefix: string, topics: readonly string[], table?: string): DelayQueue {
  const queue = new DelayQueue(stack, id, {
    prefix,
    topics: Object.fromEntries(topics.map((topic) => [topic, {}])),
    api: { auth: "none" },
    topicsFile: join(tmpdir(), `minutehand-life-${prefix}.json`),
    ...(table !== undefined && { table: Table.fromTableName(stack, "Survivor", table) }),
  });
  const handler = join(import.meta.dirname, "handler.ts");
  for (const topic of topics) {
    if (hasAliases) queue.addConsumer(topic, functionOf(`${id}-${topic}`, handler).addAlias("live"));
    else queue.addHandler(topic, handler, { timeout: Duration.seconds(timeout) });
  }
  return queue;
}

function functionOf(id: string, entry: string): LambdaFunction {
  return new LambdaFunction(stack, id, {
    code: handlerCode(entry, {}).code,
    handler: "index.handler",
    runtime: Runtime.NODEJS_24_X,
    timeout: Duration.seconds(timeout),
  });
}

const queue = queueOf(id, "life", topics, table);
if (hasSecond) queueOf("Second", "second", ["letters"]);
// SQS refuses this queue, because a visibility timeout must be at most 43,200 s.
if (isBroken) new CfnQueue(stack, "Broken", { visibilityTimeout: 43_201 }).node.addDependency(queue);
