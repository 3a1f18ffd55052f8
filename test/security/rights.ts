import { isDeepStrictEqual } from "node:util";
import { type Json, resolve, type Scope } from "../../local/template/template.ts";
import { policiesOf, type StackTemplate } from "../infra/resources.ts";

/** `service:Action resource`. The resource is the part of its ARN after the account: `minutehand-orders`, `table/jobs`. */
export type Right = string;

type Statement = {
  Effect: string;
  Action: string | string[];
  Resource: unknown;
  Condition?: unknown;
};

/** The only condition that `rightsOf` knows, besides that of event source mappings: a role may be passed to Scheduler only. */
const PASSED_TO_SCHEDULER = { StringEquals: { "iam:PassedToService": "scheduler.amazonaws.com" } };

/** The rights that the policies of a function's role allow. Throws if a policy contains something that it cannot read. */
export function rightsOf(template: StackTemplate, functionId: string, scope: Scope): Set<Right> {
  const role = attributeOf(template.Resources[functionId]?.Properties.Role);
  const policies = policiesOf(template).filter(([, { Properties }]) =>
    (Properties.Roles as { Ref: string }[]).some(({ Ref }) => Ref === role),
  );
  const statements = policies.flatMap(
    ([, { Properties }]) => (Properties.PolicyDocument as { Statement: Statement[] }).Statement,
  );
  if (statements.length === 0) throw new Error(`${functionId} has no policy: is its name still right?`);
  return new Set(statements.flatMap((statement) => rightsIn(statement, scope)));
}

/** A mapping may be changed, but not to invoke a function that is no consumer. */
function isOfConsumers(condition: unknown): boolean {
  const { ArnEqualsIfExists: named = {}, ...others } = (condition ?? {}) as { ArnEqualsIfExists?: Json };
  const [[name, arns] = []] = Object.entries(named as object);
  const isArn = (arn: unknown): boolean => typeof arn === "object" && arn !== null && "Fn::GetAtt" in arn;
  return name === "lambda:FunctionArn" && [arns].flat().every(isArn) && Object.keys(others).length === 0;
}

function rightsIn({ Effect, Action, Resource, Condition }: Statement, scope: Scope): Right[] {
  const isKnown =
    Action === "lambda:UpdateEventSourceMapping"
      ? isOfConsumers(Condition)
      : isDeepStrictEqual(Condition, Action === "iam:PassRole" ? PASSED_TO_SCHEDULER : undefined);
  if (Effect !== "Allow" || !isKnown)
    throw new Error(`unknown: ${Effect} of ${Action} on the condition ${JSON.stringify(Condition)}`);
  return [Action].flat().flatMap((action) =>
    [Resource].flat().map((arn) => {
      const right = `${action} ${nameOf(String(resolve(arn as Json, scope)))}`;
      if (right.includes("*") && !ON_ALL.test(right)) throw new Error(`unknown: a * in ${right}`);
      return right;
    }),
  );
}

/** The rights that may contain a `*`: for all schedules of a group, and for lists, which IAM knows no resource for. */
const ON_ALL = /^scheduler:(?:\w+ schedule\/[\w-]+\/\*|ListSchedules \*)$/;

function nameOf(arn: string): string {
  return arn === "*" ? arn : arn.split(":").slice(5).join(":");
}

function attributeOf(value: unknown): string {
  const [id] = (value as { "Fn::GetAtt"?: string[] } | undefined)?.["Fn::GetAtt"] ?? [];
  return id ?? JSON.stringify(value);
}

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
const ON_A_TABLE = /^(GetItem|PutItem|UpdateItem|DeleteItem|Query|Scan|DescribeTable)$/;
const ON_A_SCHEDULE = /^(CreateSchedule|UpdateSchedule|GetSchedule|DeleteSchedule)$/;

/**
 * Transactions ask by their parts ("Using IAM with DynamoDB transactions"), statements by their kind ("IAM security policies with PartiQL
 * for DynamoDB"), the others by "Actions, resources, and condition keys for Amazon EventBridge Scheduler", "… AWS Secrets Manager" and "…
 * AWS Lambda". Throws for an operation that nobody has looked up yet.
 */
export function rightsFor({ operation, input }: AwsRequest): Right[] {
  const onTable = (name: string, action: string) => `dynamodb:${action} table/${name}`;
  const [, sqs] = SQS.exec(operation) ?? [];
  if (sqs !== undefined) return [`sqs:${sqs} ${String(input.QueueUrl).split("/").at(-1)}`];
  if (ON_A_TABLE.test(operation)) return [onTable(String(input.TableName), operation)];
  if (operation === "BatchGetItem")
    return Object.keys(input.RequestItems as object).map((name) => onTable(name, operation));
  if (operation === "TransactWriteItems") {
    return (input.TransactItems as Batched[]).flatMap((item) =>
      Object.entries(item).map(([part, { TableName }]) => onTable(TableName, TRANSACTED[part] ?? part)),
    );
  }
  if (operation === "BatchExecuteStatement") {
    return (input.Statements as { Statement: string }[]).map(({ Statement }) => {
      const [, action] = STATEMENTS.find(([kind]) => kind.test(Statement)) ?? [];
      return onTable(/"([^"]+)"/.exec(Statement)?.[1] ?? "", action ?? Statement);
    });
  }
  if (ON_A_SCHEDULE.test(operation)) {
    const { GroupName, Target } = input as { GroupName?: string; Target?: { RoleArn: string } };
    // A call that gives Scheduler a role also needs the right to pass the role.
    const passed = Target ? [`iam:PassRole ${nameOf(Target.RoleArn)}`] : [];
    return [`scheduler:${operation} schedule/${GroupName ?? "default"}/*`, ...passed];
  }
  if (operation === "ListSchedules") return [`scheduler:${operation} *`];
  if (operation === "GetSecretValue")
    return [`secretsmanager:${operation} ${nameOf(String(input.SecretId))}`];
  if (operation === "Invoke")
    return [`lambda:InvokeFunction function:${String(input.FunctionName).replace(/^.*:function:/, "")}`];
  if (operation === "UpdateEventSourceMapping")
    return [`lambda:${operation} event-source-mapping:${input.UUID}`];
  throw new Error(`nobody has said what IAM asks for ${operation}`);
}
