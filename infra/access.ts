import { Grant, type IGrantable } from "aws-cdk-lib/aws-iam";
import type { IKey } from "aws-cdk-lib/aws-kms";
import type { Secret } from "aws-cdk-lib/aws-secretsmanager";
import type { IQueue } from "aws-cdk-lib/aws-sqs";
import type { PoolTable } from "./job-pool.ts";

type PoolAction =
  | "GetItem"
  | "BatchGetItem"
  | "Query"
  | "Scan"
  | "PutItem"
  | "UpdateItem"
  | "DeleteItem"
  | "ConditionCheckItem"
  | "PartiQLInsert"
  | "PartiQLUpdate"
  | "DescribeTable";

type QueueAction =
  | "SendMessage"
  | "ReceiveMessage"
  | "DeleteMessage"
  | "ChangeMessageVisibility"
  | "GetQueueAttributes";

/**
 * A function that handles jobs reads them, files looks, changes homes (in a transaction if another item must be checked), and parks jobs.
 */
const MEET_JOBS: readonly PoolAction[] = [
  "GetItem",
  "BatchGetItem",
  "PutItem",
  "UpdateItem",
  "DeleteItem",
  "ConditionCheckItem",
  "PartiQLInsert",
  "PartiQLUpdate",
];
/** For producers, which file, read, move and cancel jobs, one or many at once. */
export const ENQUEUE_ACTIONS = MEET_JOBS;
/** For the function that applies events. It does the same as a producer, but always for one job at a time. */
export const EVENT_ACTIONS = MEET_JOBS.filter((action) => action !== "PartiQLInsert");
/** For functions that handle one job without a key. They need neither the checks of transactions nor batches of inserts. */
export const ONE_JOB_ACTIONS = MEET_JOBS.filter(
  (action) => action !== "ConditionCheckItem" && action !== "PartiQLInsert",
);
/** For consumers, which claim and settle jobs, and redrive dead jobs whose dead letters SQS's own redrive has sent back. */
export const RUN_ACTIONS = MEET_JOBS;
/** For the function that serves all calls of the HTTP API except `receive`. Only an erase and an export scan. */
export const API_ACTIONS: readonly PoolAction[] = [...MEET_JOBS, "Query", "Scan"];
/** For the tick, which sweeps, audits and releases jobs, and creates the first cursors. */
export const TICK_ACTIONS: readonly PoolAction[] = [...MEET_JOBS, "Query", "DescribeTable"];

/** The actions that the caller of an encrypted table needs ("DynamoDB encryption at rest usage notes"), without wildcards. */
const TABLE_KEY_ACTIONS = [
  "kms:DescribeKey",
  "kms:Encrypt",
  "kms:Decrypt",
  "kms:ReEncryptFrom",
  "kms:ReEncryptTo",
  "kms:GenerateDataKey",
  "kms:GenerateDataKeyWithoutPlaintext",
];
/** "Key management", SQS Developer Guide: a sender needs both actions, a receiver only `kms:Decrypt`. All grantees get both here. */
const QUEUE_KEY_ACTIONS = ["kms:GenerateDataKey", "kms:Decrypt"];
/** The actions that the reader of a secret needs ("Secret encryption and decryption in AWS Secrets Manager"). */
const SECRET_KEY_ACTIONS = ["kms:Decrypt"];

/**
 * How many queues a statement names. The CDK counts 153 characters for each of their ARNs. It divides a role's policy into managed policies of
 * 6,000 characters between statements, and never within one. AWS takes at most 6,144 ("IAM and AWS STS quotas", IAM User Guide).
 */
export const QUEUES_A_STATEMENT = 11;

export function grantPool(grantee: IGrantable, table: PoolTable, actions: readonly PoolAction[]): void {
  grant(
    grantee,
    actions.map((action) => `dynamodb:${action}`),
    [table.tableArn],
  );
  grantKey(grantee, table.encryptionKey, TABLE_KEY_ACTIONS);
}

export function grantQueues(
  grantee: IGrantable,
  queues: readonly IQueue[],
  actions: readonly QueueAction[],
): void {
  const named = actions.map((action) => `sqs:${action}`);
  for (let first = 0; first < queues.length; first += QUEUES_A_STATEMENT) {
    const these = queues.slice(first, first + QUEUES_A_STATEMENT);
    grant(
      grantee,
      named,
      these.map((queue) => queue.queueArn),
    );
  }
  grantKey(grantee, queues[0]?.encryptionMasterKey, QUEUE_KEY_ACTIONS);
}

export function grantPulls(
  grantee: IGrantable,
  table: PoolTable,
  topics: readonly { readonly ready: IQueue; readonly dlq: IQueue; readonly busArn: string | undefined }[],
): void {
  // Grant this for untracked topics too: their queues may contain tracked jobs from before their tracking was changed.
  grantPool(grantee, table, RUN_ACTIONS);
  grantQueues(
    grantee,
    topics.map(({ ready }) => ready),
    // `grantee` also sends the next attempt of a job whose run has failed or crashed.
    ["ReceiveMessage", "DeleteMessage", "ChangeMessageVisibility", "SendMessage"],
  );
  // `grantee` sends the dead letter of a job that is buried, or whose last attempt has failed or crashed.
  grantQueues(
    grantee,
    topics.map(({ dlq }) => dlq),
    ["SendMessage"],
  );
  grantNotify(grantee, topics);
}

/** For functions and workers that end runs of these topics. Grants nothing unless one of them has `notify`. All topics of a queue have the same bus. */
export function grantNotify(
  grantee: IGrantable,
  topics: readonly { readonly busArn: string | undefined }[],
): void {
  const [busArn] = topics.flatMap((topic) => topic.busArn ?? []);
  if (busArn !== undefined) grant(grantee, ["events:PutEvents"], [busArn]);
}

export function grantSecret(grantee: IGrantable, secret: Secret): void {
  grant(grantee, ["secretsmanager:GetSecretValue"], [secret.secretArn]);
  grantKey(grantee, secret.encryptionKey, SECRET_KEY_ACTIONS);
}

/** For exactly this function, version or alias. The CDK's own `grantInvoke` allows every version and alias of a function. */
export function grantInvoke(grantee: IGrantable, { functionArn }: { readonly functionArn: string }): void {
  grant(grantee, ["lambda:InvokeFunction"], [functionArn]);
}

// The CDK's own `grant…` methods allow more actions than the queue uses: `kms:ReEncrypt*` and `kms:GenerateDataKey*`.
function grantKey(grantee: IGrantable, key: IKey | undefined, actions: string[]): void {
  if (key !== undefined) grant(grantee, actions, [key.keyArn]);
}

function grant(grantee: IGrantable, actions: string[], resourceArns: string[]): void {
  Grant.addToPrincipal({ grantee, actions, resourceArns }).assertSuccess();
}
