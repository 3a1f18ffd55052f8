import { tmpdir } from "node:os";
import { join } from "node:path";
import { App, Duration, Stack } from "aws-cdk-lib";
import { HttpLambdaAuthorizer, HttpLambdaResponseType } from "aws-cdk-lib/aws-apigatewayv2-authorizers";
import { Table } from "aws-cdk-lib/aws-dynamodb";
import { Code, Function as LambdaFunction, Runtime } from "aws-cdk-lib/aws-lambda";
import { CfnQueue } from "aws-cdk-lib/aws-sqs";
import { DelayQueue } from "../../infra/delay-queue.ts";
import { handlerCode } from "../../infra/handler.ts";
import type { ApiProps } from "../../infra/props.ts";
import { type Life, PRINCIPAL, STACK, TOKEN } from "./life.ts";

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
  hasApi,
}: Life = JSON.parse(app.node.tryGetContext("life"));
const stack = new Stack(app, STACK);

function queueOf(
  id: string,
  prefix: string,
  topics: readonly string[],
  api: ApiProps,
  table?: string,
): DelayQueue {
  const queue = new DelayQueue(stack, id, {
    prefix,
    topics: Object.fromEntries(topics.map((topic) => [topic, {}])),
    api,
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

function authorizer(): HttpLambdaAuthorizer {
  const code = `exports.handler = async ({ headers }) => ({
    isAuthorized: headers.authorization === "Bearer ${TOKEN}",
    context: { principalId: "${PRINCIPAL}" },
  });`;
  const asked = new LambdaFunction(stack, "Authorizer", {
    code: Code.fromInline(code),
    handler: "index.handler",
    runtime: Runtime.NODEJS_24_X,
  });
  return new HttpLambdaAuthorizer("Login", asked, {
    responseTypes: [HttpLambdaResponseType.SIMPLE],
    resultsCacheTtl: Duration.seconds(0),
  });
}

function functionOf(id: string, entry: string): LambdaFunction {
  return new LambdaFunction(stack, id, {
    code: handlerCode(entry, {}).code,
    handler: "index.handler",
    runtime: Runtime.NODEJS_24_X,
    timeout: Duration.seconds(timeout),
  });
}

const WITHOUT_API: ApiProps = { auth: "none" };
const queue = queueOf(id, "life", topics, hasApi ? { authorizer: authorizer() } : WITHOUT_API, table);
if (hasSecond) queueOf("Second", "second", ["letters"], WITHOUT_API);
// SQS refuses this queue, because a visibility timeout must be at most 43,200 s.
if (isBroken) new CfnQueue(stack, "Broken", { visibilityTimeout: 43_201 }).node.addDependency(queue);
