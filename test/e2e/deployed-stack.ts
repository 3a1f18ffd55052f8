import {
  CloudFormationClient,
  DescribeStackResourceCommand,
  DescribeStacksCommand,
  GetTemplateCommand,
} from "@aws-sdk/client-cloudformation";
import {
  type FunctionConfiguration,
  GetFunctionConfigurationCommand,
  LambdaClient,
} from "@aws-sdk/client-lambda";
import { cannot, type Place } from "./places.ts";
import type { ApiAccess, Target } from "./target.ts";

/** Answers the physical name of the resource of this type whose logical id begins with `logicalId`. Throws if there is none. */
type Find = (type: string, logicalId: string) => Promise<string>;

/** Region, credentials and endpoint come from the environment. Throws when the stack is not there or is not this app's. */
export async function deployedTarget(place: Place, stack: string): Promise<Target> {
  const client = new CloudFormationClient({});
  try {
    const { ApiUrl } = await outputsOf(client, stack);
    const find = await finderIn(client, stack);
    return {
      place,
      api:
        ApiUrl === undefined ? await withoutApi(find) : accessTo(place, ApiUrl, await client.config.region()),
      log: { group: await logGroup(place, find) },
      promotions: await promotionsGroup(find),
      secret: await find("AWS::SecretsManager::Secret", "JobsWebhookcallbacks"),
    };
  } finally {
    client.destroy();
  }
}

/** A tick's variables. `queue`: the id of the queue's construct. Region, credentials and endpoint come from the environment. */
export async function deployedEnvironment(stack: string, queue: string): Promise<Record<string, string>> {
  const client = new CloudFormationClient({});
  try {
    const find = await finderIn(client, stack);
    const tick = await configurationOf(await find("AWS::Lambda::Function", `${queue}Tick`));
    return tick.Environment?.Variables ?? {};
  } finally {
    client.destroy();
  }
}

async function outputsOf(client: CloudFormationClient, stack: string): Promise<{ ApiUrl?: string }> {
  const { Stacks = [] } = await client.send(new DescribeStacksCommand({ StackName: stack }));
  const outputs = Stacks[0]?.Outputs?.map(({ OutputKey = "", OutputValue = "" }) => [OutputKey, OutputValue]);
  const named: Record<string, string> = Object.fromEntries(outputs ?? []);
  if ("TableName" in named && "QueueUrlPrefix" in named) return named;
  const has = Object.keys(named).join(", ") || "none";
  throw new Error(`stack ${stack} must have the outputs TableName and QueueUrlPrefix, has ${has}`);
}

async function finderIn(client: CloudFormationClient, stack: string): Promise<Find> {
  const { TemplateBody = "{}" } = await client.send(new GetTemplateCommand({ StackName: stack }));
  const { Resources }: { Resources: Record<string, { Type: string }> } = JSON.parse(TemplateBody);
  return async (type, logicalId) => {
    const [id] =
      Object.entries(Resources).find(([name, { Type }]) => Type === type && name.startsWith(logicalId)) ?? [];
    if (id === undefined)
      throw new Error(`stack ${stack} must have a ${type} whose logical id begins with ${logicalId}`);
    const request = new DescribeStackResourceCommand({ StackName: stack, LogicalResourceId: id });
    const { StackResourceDetail } = await client.send(request);
    return StackResourceDetail?.PhysicalResourceId ?? "";
  };
}

function accessTo(place: Place, apiUrl: string, signedFor: string): ApiAccess {
  return { url: cannot(place, "api-host") ? byPath(apiUrl) : apiUrl, signedFor };
}

/** The URL under MiniStack's own address at which MiniStack serves the API `https://<id>.execute-api.<host>`. */
function byPath(apiUrl: string): string {
  const [id] = new URL(apiUrl).hostname.split(".");
  return `${process.env.AWS_ENDPOINT_URL}/_aws/execute-api/${id}/$default`;
}

/** The environment for an API in this process: the variables of the tick, and one for the promotions, which the tick does not have. */
async function withoutApi(find: Find): Promise<ApiAccess> {
  const tick = await configurationOf(await find("AWS::Lambda::Function", "JobsTick"));
  const { FunctionArn: target = "" } = await configurationOf(
    await find("AWS::Lambda::Function", "JobsPromotions"),
  );
  const group = await promotionsGroup(find);
  const [, partition, , , account] = target.split(":");
  const role = `arn:${partition}:iam::${account}:role/${await find("AWS::IAM::Role", "JobsPromotionsSchedules")}`;
  return {
    environment: {
      ...tick.Environment?.Variables,
      MINUTEHAND_PROMOTIONS: JSON.stringify({ group, target, role }),
    },
  };
}

function promotionsGroup(find: Find): Promise<string> {
  return find("AWS::Scheduler::ScheduleGroup", "JobsPromotions");
}

async function configurationOf(name: string): Promise<FunctionConfiguration> {
  const client = new LambdaClient({});
  try {
    return await client.send(new GetFunctionConfigurationCommand({ FunctionName: name }));
  } finally {
    client.destroy();
  }
}

async function logGroup(place: Place, find: Find): Promise<string> {
  if (cannot(place, "log-groups") === undefined) return find("AWS::Logs::LogGroup", "Consumerreminders");
  return `/aws/lambda/${await find("AWS::Lambda::Function", "Consumerreminders")}`;
}
