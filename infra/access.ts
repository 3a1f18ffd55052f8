import { Grant, type IGrantable } from "aws-cdk-lib/aws-iam";
import type { IKey } from "aws-cdk-lib/aws-kms";
import type { Secret } from "aws-cdk-lib/aws-secretsmanager";
import type { IQueue } from "aws-cdk-lib/aws-sqs";
import type { PoolTable } from "./job-pool.ts";

type PoolAction =
  | "GetItem"
  | "BatchGetItem"
  | "Query"
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
 * A function that handles a job reads it, files looks for it and changes its home, in a transaction if the job has a key. It also
 * parks jobs of a paused topic, many at once, and deletes their notes.
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
/** For producers: files, reads, moves and cancels jobs, one or many at once. */
export const ENQUEUE_ACTIONS = MEET_JOBS;
/** For the function that applies events: the same, but always one job at a time. */
export const EVENT_ACTIONS = MEET_JOBS.filter((action) => action !== "PartiQLInsert");
/** For one job without a key: needs neither transactions nor batches of inserts. */
export const ONE_JOB_ACTIONS = MEET_JOBS.filter(
  (action) => action !== "ConditionCheckItem" && action !== "PartiQLInsert",
);
/** For consumers: claims and settles jobs, and redrives dead jobs whose dead letters SQS's own redrive has sent back. */
export const RUN_ACTIONS = MEET_JOBS;
/** For all calls of the HTTP API except `receive`: enqueues, lists, redrives and resumes. */
export const API_ACTIONS: readonly PoolAction[] = [...MEET_JOBS, "Query"];
/** For the tick: sweeps, audits and resumes, and creates the first cursors. */
export const TICK_ACTIONS: readonly PoolAction[] = [...MEET_JOBS, "Query", "DescribeTable"];

/** What the caller of an encrypted table needs ("DynamoDB encryption at rest usage notes"), without wildcards. */
const TABLE_KEY_ACTIONS = [
  "kms:DescribeKey",
  "kms:Encrypt",
  "kms:Decrypt",
  "kms:ReEncryptFrom",
  "kms:ReEncryptTo",
  "kms:GenerateDataKey",
  "kms:GenerateDataKeyWithoutPlaintext",
];
/** "Key management", SQS Developer Guide: a sender needs both actions, a receiver the second. */
const QUEUE_KEY_ACTIONS = ["kms:GenerateDataKey", "kms:Decrypt"];
/** What the reader of a secret needs ("Secret encryption and decryption in AWS Secrets Manager"). */
const SECRET_KEY_ACTIONS = ["kms:Decrypt"];

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
  const arns = queues.map((queue) => queue.queueArn);
  if (arns.length === 0) return;
  grant(
    grantee,
    actions.map((action) => `sqs:${action}`),
    arns,
  );
  grantKey(grantee, queues[0]?.encryptionMasterKey, QUEUE_KEY_ACTIONS);
}

/** Lets `grantee` read the value of a secret. */
export function grantSecret(grantee: IGrantable, secret: Secret): void {
  grant(grantee, ["secretsmanager:GetSecretValue"], [secret.secretArn]);
  grantKey(grantee, secret.encryptionKey, SECRET_KEY_ACTIONS);
}

// The CDK's own `grant…` methods allow more than is used, with `kms:ReEncrypt*` and `kms:GenerateDataKey*`.
function grantKey(grantee: IGrantable, key: IKey | undefined, actions: string[]): void {
  if (key !== undefined) grant(grantee, actions, [key.keyArn]);
}

function grant(grantee: IGrantable, actions: string[], resourceArns: string[]): void {
  Grant.addToPrincipal({ grantee, actions, resourceArns }).assertSuccess();
}
