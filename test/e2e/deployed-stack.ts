import {
  CloudFormationClient,
  DescribeStackResourceCommand,
  DescribeStacksCommand,
  GetTemplateCommand,
} from "@aws-sdk/client-cloudformation";
import { cannot, type Place } from "./places.ts";
import type { ApiAccess, Target } from "./target.ts";

type Template = { Resources: Record<string, Resource> };
type Resource = { Type: string; Properties?: { Environment?: { Variables?: Record<string, unknown> } } };

/**
 * A deployed stack of the app as CloudFormation describes it. Region, credentials and endpoint come from the
 * environment. Throws when the stack is not there or is not this app's.
 */
export async function deployedTarget(place: Place, stack: string): Promise<Target> {
  const client = new CloudFormationClient({});
  try {
    const outputs = await outputsOf(client, stack);
    const { TemplateBody = "{}" } = await client.send(new GetTemplateCommand({ StackName: stack }));
    const template = JSON.parse(TemplateBody) as Template;
    return {
      place,
      api: accessTo(place, outputs, template, await client.config.region()),
      log: { group: await logGroup(client, place, stack, template) },
    };
  } finally {
    client.destroy();
  }
}

type Outputs = { ApiUrl?: string; TableName: string; QueueUrlPrefix: string };

async function outputsOf(client: CloudFormationClient, stack: string): Promise<Outputs> {
  const { Stacks = [] } = await client.send(new DescribeStacksCommand({ StackName: stack }));
  const named = Stacks[0]?.Outputs?.map(({ OutputKey, OutputValue }) => [OutputKey, OutputValue]) ?? [];
  const outputs = Object.fromEntries(named) as Partial<Outputs>;
  const { TableName, QueueUrlPrefix } = outputs;
  if (TableName === undefined || QueueUrlPrefix === undefined) {
    const has = Object.keys(outputs).join(", ") || "none";
    throw new Error(`stack ${stack} must have the outputs TableName and QueueUrlPrefix, has ${has}`);
  }
  return { ...outputs, TableName, QueueUrlPrefix };
}

function accessTo(place: Place, outputs: Outputs, template: Template, region: string): ApiAccess {
  const { ApiUrl, TableName, QueueUrlPrefix } = outputs;
  if (ApiUrl !== undefined)
    return { url: cannot(place, "api-host") ? byPath(ApiUrl) : ApiUrl, signedFor: region };
  const variables = Object.values(template.Resources).map(
    ({ Properties }) => Properties?.Environment?.Variables,
  );
  const policy = variables.find((names) => names?.MINUTEHAND_POLICY !== undefined)?.MINUTEHAND_POLICY;
  return {
    environment: {
      MINUTEHAND_TABLE: TableName,
      MINUTEHAND_QUEUE_URL_PREFIX: QueueUrlPrefix,
      MINUTEHAND_POLICY: String(policy),
    },
  };
}

/** `https://<id>.execute-api.<host>` as MiniStack takes it below its own address. */
function byPath(apiUrl: string): string {
  const [id] = new URL(apiUrl).hostname.split(".");
  return `${process.env.AWS_ENDPOINT_URL}/_aws/execute-api/${id}/$default`;
}

async function logGroup(
  client: CloudFormationClient,
  place: Place,
  stack: string,
  { Resources }: Template,
): Promise<string> {
  const own = cannot(place, "log-groups") === undefined;
  const type = own ? "AWS::Logs::LogGroup" : "AWS::Lambda::Function";
  const [id] =
    Object.entries(Resources).find(([name, { Type }]) => Type === type && /^Consumerreminders/.test(name)) ??
    [];
  if (id === undefined)
    throw new Error(`stack ${stack} must have the consumer of reminders, has no ${type} of it`);
  const { StackResourceDetail } = await client.send(
    new DescribeStackResourceCommand({ StackName: stack, LogicalResourceId: id }),
  );
  const name = StackResourceDetail?.PhysicalResourceId ?? "";
  return own ? name : `/aws/lambda/${name}`;
}
