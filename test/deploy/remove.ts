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

// Deletes a stack and the CDK toolkit that deployed it: `node remove.ts <stack> <toolkit's stack> <its qualifier>`. What is
// not there is no error. The environment leads to the account.
const WAIT_SECONDS = 1800;
const [, , stack = "", toolkit = "", qualifier = ""] = process.argv;
const cloudFormation = new CloudFormationClient({});
// A path names the bucket where no resolver knows hosts of buckets.
const s3 = new S3Client({ forcePathStyle: process.env.AWS_S3_FORCE_PATH_STYLE === "1" });

try {
  // The toolkit's role deletes what it has deployed.
  await deleteStack(stack);
  await deleteStack(toolkit);
  // The toolkit's template keeps its bucket.
  await deleteBucket(await bucketName());
} catch (error) {
  console.error(
    `stack ${stack} or what deployed it is not deleted: ${errorText(error)}. ` +
      `Delete in CloudFormation the stacks ${stack} and ${toolkit}, and in S3 the bucket cdk-${qualifier}-assets-…`,
  );
  process.exitCode = 1;
}

async function deleteStack(name: string): Promise<void> {
  const id = await idOf(name);
  if (id === undefined) return;
  await cloudFormation.send(new DeleteStackCommand({ StackName: id }));
  // By its id, since a deleted stack's name names nothing.
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

/** As the CDK's bootstrap template names it. */
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
