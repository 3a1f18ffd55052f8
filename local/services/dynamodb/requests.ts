import * as z from "zod/mini";
import { invalid, notPlayed } from "./refusals.ts";

const text = z.string();
const flag = z.boolean();
const wholeNumber = z.number().check(z.int(), z.minimum(1));
/** An item. Not checked here, because `readItem` checks it with DynamoDB's own error texts. */
const item = z.record(z.string(), z.any());
const names = z.record(z.string(), z.string());
const capacity = z.enum(["INDEXES", "TOTAL", "NONE"]);
const onFailure = z.enum(["ALL_OLD", "NONE"]);
const keySchema = z.array(z.object({ AttributeName: text, KeyType: z.enum(["HASH", "RANGE"]) }));
const indexes = z.array(
  z.object({
    IndexName: text,
    KeySchema: keySchema,
    Projection: z.optional(
      z.object({ ProjectionType: z.optional(text), NonKeyAttributes: z.optional(z.array(text)) }),
    ),
  }),
);
const common = {
  ReturnConsumedCapacity: z.optional(capacity),
  ReturnItemCollectionMetrics: z.optional(text),
};
const placeholders = {
  ExpressionAttributeNames: z.optional(names),
  ExpressionAttributeValues: z.optional(item),
};
const condition = {
  TableName: text,
  ...placeholders,
  ConditionExpression: z.optional(text),
  ReturnValuesOnConditionCheckFailure: z.optional(onFailure),
};
const put = { ...condition, Item: item };
const remove = { ...condition, Key: item };
const update = { ...remove, UpdateExpression: z.optional(text) };
const reading = { ConsistentRead: z.optional(flag), ProjectionExpression: z.optional(text) };
const returnValues = z.optional(z.enum(["NONE", "ALL_OLD", "UPDATED_OLD", "ALL_NEW", "UPDATED_NEW"]));
const page = {
  TableName: text,
  ...common,
  ...placeholders,
  ...reading,
  IndexName: z.optional(text),
  FilterExpression: z.optional(text),
  Limit: z.optional(wholeNumber),
  ExclusiveStartKey: z.optional(item),
  Select: z.optional(z.enum(["ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES", "SPECIFIC_ATTRIBUTES", "COUNT"])),
};
const statement = z.strictObject({
  Statement: text,
  Parameters: z.optional(z.array(z.any())),
  ConsistentRead: z.optional(flag),
  ReturnValuesOnConditionCheckFailure: z.optional(onFailure),
});

/**
 * Members that are not played are refused, so that none is ignored in silence. Only CreateTable and TTL ignore others, such as tags and
 * provisioned throughput: they do not change the items.
 */
export const REQUESTS = {
  CreateTable: z.object({
    TableName: text.check(z.regex(/^[\w.-]{3,255}$/)),
    KeySchema: keySchema.check(z.minLength(1), z.maxLength(2)),
    AttributeDefinitions: z.array(z.object({ AttributeName: text, AttributeType: z.enum(["S", "N", "B"]) })),
    GlobalSecondaryIndexes: z.optional(indexes),
    LocalSecondaryIndexes: z.optional(indexes),
    BillingMode: z.optional(text),
  }),
  DescribeTable: z.strictObject({ TableName: text }),
  DeleteTable: z.strictObject({ TableName: text }),
  ListTables: z.strictObject({
    ExclusiveStartTableName: z.optional(text),
    Limit: z.optional(wholeNumber.check(z.maximum(100))),
  }),
  DescribeTimeToLive: z.strictObject({ TableName: text }),
  UpdateTimeToLive: z.strictObject({
    TableName: text,
    TimeToLiveSpecification: z.object({ AttributeName: text, Enabled: flag }),
  }),
  GetItem: z.strictObject({
    TableName: text,
    Key: item,
    ExpressionAttributeNames: z.optional(names),
    ...reading,
    ...common,
  }),
  PutItem: z.strictObject({ ...put, ReturnValues: returnValues, ...common }),
  UpdateItem: z.strictObject({ ...update, ReturnValues: returnValues, ...common }),
  DeleteItem: z.strictObject({ ...remove, ReturnValues: returnValues, ...common }),
  Query: z.strictObject({
    ...page,
    KeyConditionExpression: text,
    ScanIndexForward: z.optional(flag),
  }),
  Scan: z.strictObject(page),
  BatchGetItem: z.strictObject({
    RequestItems: z.record(
      z.string(),
      z.strictObject({ Keys: z.array(item), ExpressionAttributeNames: z.optional(names), ...reading }),
    ),
    ...common,
  }),
  BatchWriteItem: z.strictObject({
    RequestItems: z.record(
      z.string(),
      z.array(
        z.strictObject({
          PutRequest: z.optional(z.strictObject({ Item: item })),
          DeleteRequest: z.optional(z.strictObject({ Key: item })),
        }),
      ),
    ),
    ...common,
  }),
  TransactGetItems: z.strictObject({
    TransactItems: z.array(
      z.strictObject({
        Get: z.strictObject({
          TableName: text,
          Key: item,
          ExpressionAttributeNames: z.optional(names),
          ProjectionExpression: z.optional(text),
        }),
      }),
    ),
    ...common,
  }),
  TransactWriteItems: z.strictObject({
    TransactItems: z.array(
      z.strictObject({
        Put: z.optional(z.strictObject(put)),
        Update: z.optional(z.strictObject(update)),
        Delete: z.optional(z.strictObject(remove)),
        ConditionCheck: z.optional(z.strictObject(remove)),
      }),
    ),
    ClientRequestToken: z.optional(text.check(z.minLength(1), z.maxLength(36))),
    ...common,
  }),
  BatchExecuteStatement: z.strictObject({ Statements: z.array(statement), ...common }),
  ExecuteStatement: z.strictObject({ ...statement.shape, ...common }),
};

export type Requests = { readonly [Name in keyof typeof REQUESTS]: z.infer<(typeof REQUESTS)[Name]> };

/** Checks a request. Throws a ValidationException that names the member. */
export function readRequest<Name extends keyof Requests>(name: Name, body: unknown): Requests[Name] {
  const { success, data, error } = z.safeParse<z.core.$ZodType>(REQUESTS[name], body);
  if (success) return data as Requests[Name];
  const [issue] = error.issues;
  const path = issue?.path.join(".") ?? "";
  if (issue?.code === "unrecognized_keys") throw notPlayed(`${issue.keys.join(", ")} of ${name}`);
  throw invalid(
    `1 validation error detected: Value at '${path}' failed to satisfy constraint: ${issue?.message}`,
  );
}
