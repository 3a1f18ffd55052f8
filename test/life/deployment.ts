import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import {
  CloudFormationClient,
  DescribeStackResourcesCommand,
  type StackResource,
} from "@aws-sdk/client-cloudformation";
import { GetEventSourceMappingCommand, LambdaClient } from "@aws-sdk/client-lambda";
import { ListQueuesCommand, SQSClient } from "@aws-sdk/client-sqs";
import { directOn } from "../../src/client/direct-client.ts";
import { createContext } from "../../src/environment/context.ts";
import { pauseTopic, resumeTopic } from "../../src/protocol/change/pause.ts";
import { ROOT } from "../deploy/environment.ts";
import { adaptAssembly } from "../deploy/ministack-template.ts";
import { deployedEnvironment } from "../e2e/deployed-stack.ts";
import { PATIENCE_MS } from "../patience.ts";
import { type Life, STACK } from "./life.ts";

const run = promisify(execFile);
const CDK = join(ROOT, "node_modules/aws-cdk/bin/cdk");
const APP = `${process.execPath} ${join(import.meta.dirname, "app.ts")}`;
const POLL_MS = 500;

let isBootstrapped = false;

export async function deploy(life: Life): Promise<void> {
  await deployAssembly(await synth(life));
}

/** Deploys the stack after an import of the queues that exist in the account under the names of its template. */
export async function takeBack(life: Life): Promise<void> {
  const assembly = await synth(life);
  const mapping = join(assembly, "queues.json");
  writeFileSync(mapping, JSON.stringify(await queuesThere(assembly)));
  await bootstrapOnce(assembly);
  await cdk("import", STACK, "--app", assembly, "--resource-mapping", mapping, "--force");
  await deployAssembly(assembly);
}

export async function destroy(life: Life): Promise<void> {
  await cdk("destroy", STACK, "--force", "--app", APP, "-c", `life=${JSON.stringify(life)}`);
}

async function synth(life: Life): Promise<string> {
  const assembly = mkdtempSync(join(tmpdir(), "minutehand-life-"));
  await cdk("synth", "--quiet", "--app", APP, "--output", assembly, "-c", `life=${JSON.stringify(life)}`);
  adaptAssembly(assembly, STACK);
  return assembly;
}

async function deployAssembly(assembly: string): Promise<void> {
  await bootstrapOnce(assembly);
  await cdk("deploy", STACK, "--app", assembly, "--require-approval", "never", "--progress", "events");
}

/** Prepares the account for deployments. Once is enough for all stacks. */
async function bootstrapOnce(assembly: string): Promise<void> {
  if (!isBootstrapped) await cdk("bootstrap", "--app", assembly);
  isBootstrapped = true;
}

/** The template's queues that exist in the account but not in the stack: URLs by logical id, as `cdk import` needs them. */
async function queuesThere(assembly: string): Promise<Record<string, { QueueUrl: string }>> {
  const { Resources } = JSON.parse(readFileSync(join(assembly, `${STACK}.template.json`), "utf8")) as {
    Resources: Record<string, { Type: string; Properties: { QueueName: string } }>;
  };
  const sqs = new SQSClient({});
  const known = await stackQueues();
  try {
    const { QueueUrls = [] } = await sqs.send(new ListQueuesCommand({}));
    const urls = new Map(QueueUrls.map((url) => [url.split("/").at(-1) ?? "", url]));
    return Object.fromEntries(
      Object.entries(Resources).flatMap(([id, { Type, Properties }]) => {
        const url = Type === "AWS::SQS::Queue" ? urls.get(Properties.QueueName) : undefined;
        return url === undefined || known.has(id) ? [] : [[id, { QueueUrl: url }]];
      }),
    );
  } finally {
    sqs.destroy();
  }
}

/** MiniStack serves the stack's API at this path under its own address. */
export async function apiUrl(): Promise<string> {
  const api = (await stackResources()).find(({ ResourceType }) => ResourceType === "AWS::ApiGatewayV2::Api");
  return `${process.env.AWS_ENDPOINT_URL}/_aws/execute-api/${api?.PhysicalResourceId}/$default`;
}

async function stackQueues(): Promise<Set<string>> {
  return new Set((await stackResources()).map(({ LogicalResourceId = "" }) => LogicalResourceId));
}

async function stackResources(): Promise<StackResource[]> {
  const cloudFormation = new CloudFormationClient({});
  try {
    const { StackResources = [] } = await cloudFormation.send(
      new DescribeStackResourcesCommand({ StackName: STACK }),
    );
    return StackResources;
  } catch (error) {
    if (error instanceof Error && error.message.includes("does not exist")) return [];
    throw error;
  } finally {
    cloudFormation.destroy();
  }
}

async function cdk(...args: readonly string[]): Promise<void> {
  try {
    await run(process.execPath, [CDK, ...args], { cwd: ROOT });
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    throw new Error(`cdk ${args[0]} failed: ${stderr}${stdout}`);
  }
}

/** The client for a deployed queue, by the construct's id, and the name of its table. */
export async function connect(id: string) {
  const environment = await deployedEnvironment(STACK, id);
  const ctx = createContext(environment);
  const lambda = new LambdaClient({});
  const client = directOn(ctx, ctx.telemetry.logger);
  return {
    client,
    table: environment.MINUTEHAND_TABLE ?? "",
    pause: (topic: string) => pauseTopic(ctx, topic),
    resume: (topic: string) => resumeTopic(ctx, topic, undefined),
    /** Whether Lambda polls the ready queue of a topic. */
    async isPolled(topic: string): Promise<boolean> {
      const ids: string = JSON.parse(environment.MINUTEHAND_EVENT_SOURCES ?? '""');
      const UUID = ids.split(",")[Object.keys(ctx.policy.topics).indexOf(topic)];
      const { State } = await lambda.send(new GetEventSourceMappingCommand({ UUID }));
      return State === "Enabled";
    },
    /** Waits until a job has ended. Throws when it has not within `limitMs`. */
    async ended(jobId: string) {
      return until(`job ${jobId} has not ended`, async () => {
        const job = await client.get(jobId);
        return job !== undefined && job.state !== "scheduled" && job.state !== "running" ? job : undefined;
      });
    },
  };
}

/** Asks until the answer is not `undefined`. Throws `complaint` when the patience is over. */
export async function until<T>(complaint: string, ask: () => Promise<T | undefined>): Promise<T> {
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    if (Date.now() > end) throw new Error(complaint);
    await sleep(POLL_MS);
  }
}
