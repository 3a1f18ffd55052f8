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
 * Whoever meets a job reads it, files looks for it and changes its home, keyed ones in transactions; parks those of a
 * paused topic, many at once, and takes such a note back.
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
/** Files, looks at, moves and cancels jobs, alone and many at once. */
export const ENQUEUE_ACTIONS = MEET_JOBS;
/** The same, keyed ones one by one. */
export const EVENT_ACTIONS = MEET_JOBS.filter((action) => action !== "PartiQLInsert");
/** The same of one job without a key. */
export const ONE_JOB_ACTIONS = MEET_JOBS.filter(
  (action) => action !== "ConditionCheckItem" && action !== "PartiQLInsert",
);
/** Claims and settles jobs, and redrives the dead whose letters SQS has put back. */
export const RUN_ACTIONS = MEET_JOBS;
/** All of the HTTP API but receive: enqueues, lists, redrives and resumes. */
export const API_ACTIONS: readonly PoolAction[] = [...MEET_JOBS, "Query"];
/** Sweeps, audits and resumes, and creates the first cursors. */
export const TICK_ACTIONS: readonly PoolAction[] = [...MEET_JOBS, "Query", "DescribeTable"];

/** "DynamoDB encryption at rest usage notes" asks for these of the caller, here by their full names. */
const TABLE_KEY_ACTIONS = [
  "kms:DescribeKey",
  "kms:Encrypt",
  "kms:Decrypt",
  "kms:ReEncryptFrom",
  "kms:ReEncryptTo",
  "kms:GenerateDataKey",
  "kms:GenerateDataKeyWithoutPlaintext",
];
/** "Key management", SQS Developer Guide: the first for whoever sends, the second for both sides. */
const QUEUE_KEY_ACTIONS = ["kms:GenerateDataKey", "kms:Decrypt"];
/** "Secret encryption and decryption in AWS Secrets Manager", of whoever reads. */
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

/** To read a secret's value. */
export function grantSecret(grantee: IGrantable, secret: Secret): void {
  grant(grantee, ["secretsmanager:GetSecretValue"], [secret.secretArn]);
  grantKey(grantee, secret.encryptionKey, SECRET_KEY_ACTIONS);
}

// The constructs' own `grant…` methods say `kms:ReEncrypt*` and `kms:GenerateDataKey*`, and more than is used.
function grantKey(grantee: IGrantable, key: IKey | undefined, actions: string[]): void {
  if (key !== undefined) grant(grantee, actions, [key.keyArn]);
}

function grant(grantee: IGrantable, actions: string[], resourceArns: string[]): void {
  Grant.addToPrincipal({ grantee, actions, resourceArns }).assertSuccess();
}
