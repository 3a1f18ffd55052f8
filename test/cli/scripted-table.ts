/** A table of DynamoDB: what it takes at once, and its settings. What is absent, the table does not have. */
export type ScriptedTable = {
  read: number;
  write: number;
  /** @default "ACTIVE" */
  status?: string;
  /** The names of its keys. @default `pk` and `sk` */
  keys?: [string, string];
  ttl?: string;
  isRecoverable?: boolean;
  isProtected?: boolean;
  tags?: Record<string, string>;
  /** The regions that DescribeTable answers. */
  replicas?: string[];
  globalTableVersion?: string;
  key?: string;
  /** How many of the next calls of DescribeTable still answer that the table has no deletion protection. */
  staleAnswers?: number;
  /** The calls that change it, in their order. Absent: they are not recorded. */
  changedBy?: string[];
};

type Asked = {
  TableName?: string;
  ResourceArn?: string;
  WarmThroughput?: { ReadUnitsPerSecond?: number; WriteUnitsPerSecond?: number };
  DeletionProtectionEnabled?: boolean;
  TimeToLiveSpecification?: { AttributeName: string };
  Tags?: { Key: string; Value: string }[];
  NextToken?: string;
};

const ARN = "arn:aws:dynamodb:eu-west-1:123456789012:table/";

/** Plays DynamoDB. `target`: the header `x-amz-target`. */
export function answerOfTable(tables: Record<string, ScriptedTable>, target: string, asked: Asked) {
  const name = asked.TableName ?? asked.ResourceArn?.replace(ARN, "") ?? "";
  const table = tables[name];
  if (table === undefined) return refusal("not authorized");
  const operation = target.replace(/.*\./, "");
  if (/^(Update|Tag)/.test(operation)) table.changedBy?.push(operation);
  const { ttl, isRecoverable = false } = table;
  switch (operation) {
    case "DescribeTable":
      return answer({ Table: descriptionOf(name, table) });
    case "UpdateTable":
      return updated(name, table, asked);
    case "DescribeTimeToLive": {
      const on = { TimeToLiveStatus: "ENABLING", AttributeName: ttl };
      return answer({ TimeToLiveDescription: ttl ? on : { TimeToLiveStatus: "DISABLED" } });
    }
    case "UpdateTimeToLive":
      table.ttl = asked.TimeToLiveSpecification?.AttributeName ?? "";
      return answer({});
    case "DescribeContinuousBackups": {
      const PointInTimeRecoveryStatus = isRecoverable ? "ENABLED" : "DISABLED";
      const PointInTimeRecoveryDescription = { PointInTimeRecoveryStatus };
      return answer({ ContinuousBackupsDescription: { PointInTimeRecoveryDescription } });
    }
    case "UpdateContinuousBackups":
      table.isRecoverable = true;
      return answer({});
    case "ListTagsOfResource":
      return answer(pageOfTags(table, asked.NextToken));
    case "TagResource":
      for (const { Key, Value } of asked.Tags ?? []) table.tags = { ...table.tags, [Key]: Value };
      return answer({});
    default:
      return refusal(`${operation} is unknown`);
  }
}

function descriptionOf(name: string, table: ScriptedTable) {
  const { read, write, status = "ACTIVE", keys = ["pk", "sk"], replicas = [], isProtected = false } = table;
  const isStale = (table.staleAnswers ?? 0) > 0 && isProtected;
  if (isStale) table.staleAnswers = (table.staleAnswers ?? 0) - 1;
  return {
    TableArn: `${ARN}${name}`,
    TableStatus: status,
    KeySchema: keys.map((AttributeName, i) => ({ AttributeName, KeyType: i === 0 ? "HASH" : "RANGE" })),
    AttributeDefinitions: keys.map((AttributeName) => ({ AttributeName, AttributeType: "S" })),
    Replicas: replicas.map((RegionName) => ({ RegionName })),
    GlobalTableVersion: table.globalTableVersion,
    DeletionProtectionEnabled: isProtected && !isStale,
    SSEDescription: table.key === undefined ? undefined : { KMSMasterKeyArn: table.key },
    WarmThroughput: { ReadUnitsPerSecond: read, WriteUnitsPerSecond: write },
  };
}

/** Like DynamoDB, refuses to lower a warm throughput. */
function updated(
  name: string,
  table: ScriptedTable,
  { WarmThroughput = {}, DeletionProtectionEnabled }: Asked,
) {
  const { ReadUnitsPerSecond: read = table.read, WriteUnitsPerSecond: write = table.write } = WarmThroughput;
  if (read < table.read || write < table.write) return refusal("decreasing WarmThroughput is not supported");
  Object.assign(table, { read, write });
  if (DeletionProtectionEnabled !== undefined) table.isProtected = DeletionProtectionEnabled;
  return answer({ Table: descriptionOf(name, table) });
}

/** One tag a page. */
function pageOfTags({ tags = {} }: ScriptedTable, from = "0") {
  const all = Object.entries(tags).map(([Key, Value]) => ({ Key, Value }));
  const at = Number(from);
  return { Tags: all.slice(at, at + 1), ...(at + 1 < all.length && { NextToken: `${at + 1}` }) };
}

function answer(body: object) {
  return { status: 200, body: JSON.stringify(body) };
}

function refusal(message: string) {
  const body = JSON.stringify({ __type: "com.amazon.coral.validate#ValidationException", message });
  return { status: 400, body };
}
