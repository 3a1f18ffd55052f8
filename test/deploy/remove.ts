import {
  CloudFormationClient,
  DeleteStackCommand,
  DescribeStacksCommand,
  waitUntilStackDeleteComplete,
} from "@aws-sdk/client-cloudformation";
import {
  DeleteBucketCommand,
  DeleteObjectsCommand,
  ListObjectVersionsCommand,
  NoSuchBucket,
  S3Client,
} from "@aws-sdk/client-s3";
import { GetCallerIdentityCommand, STSClient } from "@aws-sdk/client-sts";
import { errorText } from "../../local/local-error.ts";

// `node remove.ts <stack> <toolkit's stack> <toolkit's qualifier>`, in the environment's account. It is no error if one does not exist.
const WAIT_SECONDS = 1800;
const [, , stack = "", toolkit = "", qualifier = ""] = process.argv;
const cloudFormation = new CloudFormationClient({});
// An emulator needs the bucket in the path, because DNS does not know the host names of its buckets.
const s3 = new S3Client({ forcePathStyle: process.env.AWS_S3_FORCE_PATH_STYLE === "1" });

try {
  // The stack goes first, because CloudFormation deletes it with a role of the toolkit.
  await deleteStack(stack);
  await deleteStack(toolkit);
  // CloudFormation does not delete the bucket, because the toolkit's template retains it.
  await deleteBucket(await bucketName());
} catch (error) {
  console.error(
    `stack ${stack}, stack ${toolkit} or its bucket could not be deleted: ${errorText(error)}. ` +
      `Delete both stacks in CloudFormation, and the bucket cdk-${qualifier}-assets-… in S3`,
  );
  process.exitCode = 1;
}

async function deleteStack(name: string): Promise<void> {
  const id = await idOf(name);
  if (id === undefined) return;
  await cloudFormation.send(new DeleteStackCommand({ StackName: id }));
  // Wait by the stack's id, because CloudFormation does not find a deleted stack by its name.
  await waitUntilStackDeleteComplete(
    { client: cloudFormation, maxWaitTime: WAIT_SECONDS, minDelay: 1, maxDelay: 10 },
    { StackName: id },
  );
}

async function idOf(name: string): Promise<string | undefined> {
  try {
    const { Stacks = [] } = await cloudFormation.send(new DescribeStacksCommand({ StackName: name }));
    return Stacks[0]?.StackId;
  } catch (error) {
    if (errorText(error).includes("does not exist")) return undefined;
    throw error;
  }
}

/** The name that the CDK's bootstrap template gives the bucket. */
async function bucketName(): Promise<string> {
  const { Account = "" } = await new STSClient({}).send(new GetCallerIdentityCommand({}));
  return `cdk-${qualifier}-assets-${Account}-${await s3.config.region()}`;
}

async function deleteBucket(Bucket: string): Promise<void> {
  try {
    for (let isEmpty = false; !isEmpty; ) {
      const { Versions = [], DeleteMarkers = [] } = await s3.send(new ListObjectVersionsCommand({ Bucket }));
      const Objects = [...Versions, ...DeleteMarkers].map(({ Key = "", VersionId }) => ({ Key, VersionId }));
      isEmpty = Objects.length === 0;
      if (!isEmpty) await s3.send(new DeleteObjectsCommand({ Bucket, Delete: { Objects } }));
    }
    await s3.send(new DeleteBucketCommand({ Bucket }));
  } catch (error) {
    if (!(error instanceof NoSuchBucket)) throw error;
  }
}
