import { type Resource, resourcesOf, type StackTemplate } from "../infra/stack-template.ts";

/** What IAM allows or a call needs, as `service:Action resource`: a queue's name, a log group's id, or `table`. */
export type Right = string;

type Statement = {
  Effect: string;
  Action: string | string[];
  Resource: unknown;
  Condition?: unknown;
};

/** What the policies of a function's role allow. Throws on what this reading would misjudge. */
export function rightsOf(template: StackTemplate, functionId: string): Set<Right> {
  const role = attributeOf(template.Resources[functionId]?.Properties.Role);
  const policies = resourcesOf(template, "AWS::IAM::Policy").filter(([, { Properties }]) =>
    (Properties.Roles as { Ref: string }[]).some(({ Ref }) => Ref === role),
  );
  const statements = policies.flatMap(
    ([, { Properties }]) => (Properties.PolicyDocument as { Statement: Statement[] }).Statement,
  );
  if (statements.length === 0) throw new Error(`${functionId} has no policy: is its name still right?`);
  const rights = statements.flatMap(({ Effect, Action, Resource, Condition }) => {
    if (Effect !== "Allow" || Condition !== undefined) throw new Error(`unknown: ${Effect} with a condition`);
    return [Action]
      .flat()
      .flatMap((action) => [Resource].flat().map((arn) => `${action} ${nameOf(template, arn)}`));
  });
  return new Set(rights);
}

function nameOf(template: StackTemplate, arn: unknown): string {
  const id = attributeOf(arn);
  const resource: Resource | undefined = template.Resources[id];
  if (resource?.Type === "AWS::DynamoDB::Table") return "table";
  if (resource?.Type === "AWS::SQS::Queue") return String(resource.Properties.QueueName);
  if (resource?.Type === "AWS::Logs::LogGroup") return id;
  throw new Error(`a policy reaches what is no resource of the stack: ${JSON.stringify(arn)}`);
}

function attributeOf(value: unknown): string {
  const [id] = (value as { "Fn::GetAtt"?: string[] } | undefined)?.["Fn::GetAtt"] ?? [];
  return id ?? JSON.stringify(value);
}

/** A request as it leaves the SDK, of DynamoDB or of SQS. */
export type AwsRequest = { operation: string; input: Record<string, unknown> };

type Batched = Record<string, { TableName: string }>;

const TRANSACTED: Readonly<Record<string, string>> = {
  Put: "PutItem",
  Update: "UpdateItem",
  Delete: "DeleteItem",
  ConditionCheck: "ConditionCheckItem",
};
const STATEMENTS = [
  [/^INSERT INTO "/, "PartiQLInsert"],
  [/^UPDATE "/, "PartiQLUpdate"],
  [/^DELETE FROM "/, "PartiQLDelete"],
  [/^SELECT /, "PartiQLSelect"],
] as const;
/** The permission of a batch is that of its single action ("Amazon SQS API permissions", SQS Developer Guide). */
const SQS =
  /^(SendMessage|DeleteMessage|ChangeMessageVisibility|ReceiveMessage|GetQueueAttributes)(?:Batch)?$/;
const ON_A_TABLE = /^(GetItem|PutItem|UpdateItem|DeleteItem|Query|DescribeTable)$/;

/**
 * What IAM asks for a request. `table` is the pool's name. Transactions ask by their parts ("Using IAM with
 * DynamoDB transactions"), statements by their kind ("IAM security policies with PartiQL for DynamoDB"). Throws
 * for an operation that nobody has looked up yet.
 */
export function rightsFor({ operation, input }: AwsRequest, table: string): Right[] {
  const onTable = (name: string, actions: string[]) => {
    if (name !== table) throw new Error(`${operation} reaches the table ${name}, not ${table}`);
    return actions.map((action) => `dynamodb:${action} table`);
  };
  const [, sqs] = SQS.exec(operation) ?? [];
  if (sqs !== undefined) return [`sqs:${sqs} ${String(input.QueueUrl).split("/").at(-1)}`];
  if (ON_A_TABLE.test(operation)) return onTable(String(input.TableName), [operation]);
  if (operation === "BatchGetItem")
    return Object.keys(input.RequestItems as object).flatMap((name) => onTable(name, [operation]));
  if (operation === "TransactWriteItems") {
    return (input.TransactItems as Batched[]).flatMap((item) =>
      Object.entries(item).flatMap(([part, { TableName }]) => onTable(TableName, [TRANSACTED[part] ?? part])),
    );
  }
  if (operation === "BatchExecuteStatement") {
    return (input.Statements as { Statement: string }[]).flatMap(({ Statement }) => {
      const [, action] = STATEMENTS.find(([kind]) => kind.test(Statement)) ?? [];
      return onTable(/"([^"]+)"/.exec(Statement)?.[1] ?? "", [action ?? Statement]);
    });
  }
  throw new Error(`nobody has said what IAM asks for ${operation}`);
}
