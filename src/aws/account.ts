import { GetSecretValueCommand } from "@aws-sdk/client-secrets-manager";
import { MOST_SWEEPERS } from "../core/constants.ts";
import { MinutehandError } from "../core/errors.ts";
import { requirePackages } from "../general/optional-packages.ts";
import { truncate } from "../general/text.ts";
import { dynamoClient, secretsClient, settings } from "./clients.ts";
import { ownTags } from "./tags.ts";
import { unavailable } from "./unknown.ts";

/**
 * The questions that the command line asks AWS about a stack's account. Each function except `usualRegion` throws `unavailable`, or
 * `bad-answer` if it needs the stack's template and the template is not JSON.
 */

export type DeployedStack = {
  /** CloudFormation's own, such as `UPDATE_COMPLETE`. */
  readonly status: string;
  readonly outputs: readonly { readonly key: string; readonly value: string; readonly description: string }[];
  /** Those of the stack itself. CloudFormation gives them to its resources too. */
  readonly tags: Readonly<Record<string, string>>;
};

/** The region that the SDK would use. `undefined` if neither the environment nor the profile names one. */
export function usualRegion(): Promise<string | undefined> {
  return dynamoClient()
    .config.region()
    .catch(() => undefined);
}

/** The ARN of the user or role of the credentials. The call needs no permission. */
export async function callerArn(region?: string): Promise<string> {
  try {
    requirePackages("this check", "@aws-sdk/client-sts");
    const { GetCallerIdentityCommand, STSClient } = await import("@aws-sdk/client-sts");
    const { Arn = "" } = await new STSClient(settingsIn(region)).send(new GetCallerIdentityCommand({}));
    return Arn;
  } catch (thrown) {
    throw unavailable("STS did not say whose credentials these are", thrown);
  }
}

export async function deployedStack(name: string): Promise<DeployedStack | undefined> {
  try {
    requirePackages("--stack", "@aws-sdk/client-cloudformation");
    const { CloudFormationClient, DescribeStacksCommand } = await import("@aws-sdk/client-cloudformation");
    const command = new DescribeStacksCommand({ StackName: name });
    const { Stacks: [stack] = [] } = await new CloudFormationClient(settings()).send(command);
    const outputs = (stack?.Outputs ?? []).map(({ OutputKey = "", OutputValue = "", Description = "" }) => ({
      key: OutputKey,
      value: OutputValue,
      description: Description,
    }));
    return stack && { status: stack.StackStatus ?? "", outputs, tags: ownTags(stack.Tags) };
  } catch (thrown) {
    // CloudFormation has no error class for a missing stack: it throws a ValidationError.
    if (thrown instanceof Error && /does not exist/.test(thrown.message)) return undefined;
    throw unavailable(`CloudFormation did not describe the stack ${name}`, thrown);
  }
}

export type StackReservations = {
  /** The `max` of the pollers of each event source that has provisioned pollers. */
  readonly mostPollers: readonly number[];
  /** How many further invocations of a tick take unreserved concurrency: none if concurrency is reserved for the tick. */
  readonly sweepers: number;
  /** The topics whose jobs a target runs (`addTarget`). */
  readonly targetTopics: readonly string[];
};

/** `infra/target.ts` describes its function so. */
const CALLER_OF = /^Invokes the target of topic (.+)$/;

/** Reads what a stack's template reserves. Knows nothing of consumers in other stacks. */
export async function stackReservations(name: string): Promise<StackReservations> {
  const resources = await resourcesOf(name, "reserves");
  const properties = resources.map(({ Properties = {} }) => Properties);
  return {
    mostPollers: properties.flatMap(({ ProvisionedPollerConfig: pollers }) => pollers?.MaximumPollers ?? []),
    sweepers: Math.min(MOST_SWEEPERS, ...properties.flatMap(unreservedSweepers)),
    targetTopics: properties.flatMap(({ Description }) => CALLER_OF.exec(`${Description}`)?.[1] ?? []),
  };
}

/** How the stack's app would set the table of its queue, if the table were a new one. */
export type WantedTable = {
  readonly tags: Readonly<Record<string, string>>;
  /** Whether it must have deletion protection. */
  readonly isProtected: boolean;
};

/** Reads it from the topics' queues, because the table may have been imported. They have the table's tags, and stay if the table stays. */
export async function wantedTable(name: string): Promise<WantedTable> {
  const resources = await resourcesOf(name, "declares");
  const queues = resources.filter(({ Type }) => Type === "AWS::SQS::Queue");
  const [first = [], ...others] = queues.map(({ Properties }) => Properties?.Tags ?? []);
  const isShared = (tag: TemplateTag) =>
    others.every((tags) => tags.some(({ Key, Value }) => Key === tag.Key && Value === tag.Value));
  const shared = first.flatMap((tag) =>
    typeof tag.Value === "string" && isShared(tag) ? [[tag.Key, tag.Value] as const] : [],
  );
  return {
    tags: { ...(await deployedStack(name))?.tags, ...Object.fromEntries(shared) },
    isProtected: !queues.every(({ DeletionPolicy }) => DeletionPolicy === "Delete"),
  };
}

/** The current secret of a stack's webhook topic. `undefined` if the stack has no such topic. */
export async function webhookSecret(name: string, topic: string): Promise<string | undefined> {
  const resources = await resourcesOf(name, "declares");
  const variables = resources.map(({ Properties }) => Properties?.Environment?.Variables ?? {});
  const caller = variables.find(({ MINUTEHAND_WEBHOOK_TOPIC }) => MINUTEHAND_WEBHOOK_TOPIC === topic);
  const { Ref: LogicalResourceId } = (caller?.MINUTEHAND_WEBHOOK_SECRET ?? {}) as { readonly Ref?: string };
  if (LogicalResourceId === undefined) return undefined;
  try {
    const { CloudFormationClient, DescribeStackResourceCommand } = await import(
      "@aws-sdk/client-cloudformation"
    );
    const asked = new DescribeStackResourceCommand({ StackName: name, LogicalResourceId });
    const { StackResourceDetail } = await new CloudFormationClient(settings()).send(asked);
    const read = new GetSecretValueCommand({ SecretId: StackResourceDetail?.PhysicalResourceId });
    return (await secretsClient().send(read)).SecretString;
  } catch (thrown) {
    throw unavailable(`the secret of the topic ${topic} could not be read`, thrown);
  }
}

export type QueueNames = {
  /** The queue's `prefix`, which is the `service` of its metrics. */
  readonly prefix: string;
  /** The metrics of topics that its functions write. Absent: all. */
  readonly topicMetrics?: readonly string[];
};

/** Reads the names of the queue of a stack. `undefined` if the stack has no queue, or several. */
export async function queueNames(name: string): Promise<QueueNames | undefined> {
  const resources = await resourcesOf(name, "declares");
  const found = new Map(
    resources.flatMap(({ Properties }) => {
      const { MINUTEHAND_QUEUE_URL_PREFIX: url, MINUTEHAND_TOPIC_METRICS: metrics } =
        Properties?.Environment?.Variables ?? {};
      // The URL contains values that only the deployment knows, so it is a list of parts.
      const [, prefix] = /\/([\w-]+)-"[\]}]*$/.exec(JSON.stringify(url) ?? "") ?? [];
      if (prefix === undefined) return [];
      const topicMetrics = typeof metrics === "string" ? { topicMetrics: metrics.split(",") } : {};
      return [[prefix, { prefix, ...topicMetrics }] as const];
    }),
  );
  const [first, second] = found.values();
  return second === undefined ? first : undefined;
}

/** `does`: what the template was asked for. */
async function resourcesOf(name: string, does: string): Promise<TemplateResource[]> {
  try {
    requirePackages("--stack", "@aws-sdk/client-cloudformation");
    const { CloudFormationClient, GetTemplateCommand } = await import("@aws-sdk/client-cloudformation");
    const command = new GetTemplateCommand({ StackName: name });
    const { TemplateBody = "" } = await new CloudFormationClient(settings()).send(command);
    return Object.values(parsedTemplate(TemplateBody, name).Resources);
  } catch (thrown) {
    throw unavailable(`CloudFormation did not say what the stack ${name} ${does}`, thrown);
  }
}

/** The AWS CLI writes a packaged template as YAML unless it is told otherwise. */
function parsedTemplate(text: string, stack: string): { Resources: Record<string, TemplateResource> } {
  try {
    return JSON.parse(text);
  } catch (thrown) {
    const begins = JSON.stringify(truncate(text, QUOTED));
    const todo = "package it with `aws cloudformation package --use-json`, and deploy it again";
    const message = `the template of the stack ${stack} must be JSON, but begins with ${begins}: ${todo}`;
    throw new MinutehandError("bad-answer", message, {}, thrown);
  }
}

/** Bytes of the template that an error quotes. */
const QUOTED = 40;

/** Empty if the resource is not a tick with a bound. */
function unreservedSweepers(properties: NonNullable<TemplateResource["Properties"]>): number[] {
  const most = properties.Environment?.Variables?.MINUTEHAND_SWEEPERS;
  if (most === undefined) return [];
  return [properties.ReservedConcurrentExecutions === undefined ? Number(most) : 0];
}

type TemplateTag = { readonly Key: string; readonly Value: unknown };
type TemplateResource = {
  readonly Type?: string;
  readonly DeletionPolicy?: string;
  readonly Properties?: {
    readonly Tags?: readonly TemplateTag[];
    readonly Description?: unknown;
    readonly ReservedConcurrentExecutions?: number;
    readonly ProvisionedPollerConfig?: { readonly MaximumPollers: number };
    readonly Environment?: { readonly Variables?: Readonly<Record<string, unknown>> };
  };
};

export async function freeConcurrency(region?: string): Promise<number> {
  try {
    requirePackages("this check", "@aws-sdk/client-lambda");
    const { GetAccountSettingsCommand, LambdaClient } = await import("@aws-sdk/client-lambda");
    const client = new LambdaClient(settingsIn(region));
    const { AccountLimit } = await client.send(new GetAccountSettingsCommand({}));
    return AccountLimit?.UnreservedConcurrentExecutions ?? 0;
  } catch (thrown) {
    throw unavailable("Lambda did not say how many functions may run at once", thrown);
  }
}

function settingsIn(region: string | undefined) {
  return { ...settings(), ...(region === undefined ? {} : { region }) };
}
