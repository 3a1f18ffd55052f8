import { CloudWatchClient, type MetricDataQuery, paginateGetMetricData } from "@aws-sdk/client-cloudwatch";
import { GetFunctionConfigurationCommand, LambdaClient } from "@aws-sdk/client-lambda";
import type { StackParts } from "./stack-parts.ts";

export type Usage = {
  writeUnits: number;
  readUnits: number;
  /** Messages sent, received and deleted, and receives that found none. A request has up to ten messages, so there are fewer requests. */
  sqsMessages: number;
  invocations: number;
  gigabyteSeconds: number;
  apiCalls: number;
  logBytes: number;
};

const NOTHING: Usage = {
  writeUnits: 0,
  readUnits: 0,
  sqsMessages: 0,
  invocations: 0,
  gigabyteSeconds: 0,
  apiCalls: 0,
  logBytes: 0,
};

/** One metric of CloudWatch. Its sum, times `weight`, is added to the field `of` of the usage. */
type Meter = {
  of: keyof Usage;
  weight: number;
  namespace: string;
  metric: string;
  dimension: string;
  value: string;
};

const MINUTE_S = 60;
const MOST_QUERIES = 500;
const QUEUE_METRICS = [
  "NumberOfMessagesSent",
  "NumberOfMessagesReceived",
  "NumberOfMessagesDeleted",
  "NumberOfEmptyReceives",
];

/** What a stack used between two times (ms since the epoch), by CloudWatch's metrics, which come minutes late. */
export async function usageBetween(parts: StackParts, from: number, to: number): Promise<Usage> {
  const meters = await metersOf(parts);
  const usage = { ...NOTHING };
  const client = new CloudWatchClient({});
  const range = { StartTime: new Date(from), EndTime: new Date(to) };
  try {
    for (let at = 0; at < meters.length; at += MOST_QUERIES) {
      const MetricDataQueries = meters.slice(at, at + MOST_QUERIES).map(queryOf);
      for await (const page of paginateGetMetricData({ client }, { ...range, MetricDataQueries }))
        for (const { Id = "", Values = [] } of page.MetricDataResults ?? []) {
          const meter = meters[at + Number(Id.slice(1))];
          if (meter) for (const value of Values) usage[meter.of] += value * meter.weight;
        }
    }
  } finally {
    client.destroy();
  }
  return usage;
}

function queryOf({ namespace, metric, dimension, value }: Meter, i: number): MetricDataQuery {
  const Metric = {
    Namespace: namespace,
    MetricName: metric,
    Dimensions: [{ Name: dimension, Value: value }],
  };
  return { Id: `m${i}`, MetricStat: { Metric, Period: MINUTE_S, Stat: "Sum" } };
}

async function metersOf({ named }: StackParts): Promise<Meter[]> {
  const tables = [...named("AWS::DynamoDB::Table"), ...named("AWS::DynamoDB::GlobalTable")];
  return [
    ...tables.flatMap(metersOfTable),
    ...named("AWS::SQS::Queue").flatMap(metersOfQueue),
    ...(await metersOfFunctions(named("AWS::Lambda::Function"))),
    ...named("AWS::ApiGatewayV2::Api").map(
      (value): Meter => ({
        ...{ of: "apiCalls", weight: 1, namespace: "AWS/ApiGateway", metric: "Count" },
        ...{ dimension: "ApiId", value },
      }),
    ),
    ...named("AWS::Logs::LogGroup").map(
      (value): Meter => ({
        ...{ of: "logBytes", weight: 1, namespace: "AWS/Logs", metric: "IncomingBytes" },
        ...{ dimension: "LogGroupName", value },
      }),
    ),
  ];
}

function metersOfTable(value: string): Meter[] {
  const own = { weight: 1, namespace: "AWS/DynamoDB", dimension: "TableName", value };
  return [
    { of: "writeUnits", metric: "ConsumedWriteCapacityUnits", ...own },
    { of: "readUnits", metric: "ConsumedReadCapacityUnits", ...own },
  ];
}

function metersOfQueue(url: string): Meter[] {
  const value = url.split("/").at(-1) ?? "";
  const own = { weight: 1, namespace: "AWS/SQS", dimension: "QueueName", value };
  return QUEUE_METRICS.map((metric) => ({ of: "sqsMessages", metric, ...own }));
}

async function metersOfFunctions(names: readonly string[]): Promise<Meter[]> {
  const meters: Meter[] = [];
  const lambda = new LambdaClient({});
  for (const value of names) {
    const { MemorySize = 128 } = await lambda.send(
      new GetFunctionConfigurationCommand({ FunctionName: value }),
    );
    const own = { namespace: "AWS/Lambda", dimension: "FunctionName", value };
    meters.push({ of: "invocations", weight: 1, metric: "Invocations", ...own });
    meters.push({ of: "gigabyteSeconds", weight: MemorySize / 1024 / 1000, metric: "Duration", ...own });
  }
  lambda.destroy();
  return meters;
}
