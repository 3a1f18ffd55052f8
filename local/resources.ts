import type { Assembly } from "./assembly.ts";
import { delayQueueApiId, requiredNames } from "./delay-queue.ts";
import { type EventRuleSpec, readEventRule } from "./event-rule.ts";
import { leaveOutDangling } from "./left-out.ts";
import { LocalError } from "./local-error.ts";
import { type Site, scopeOf, URL_SUFFIX } from "./naming.ts";
import { playedProperties } from "./played-properties.ts";
import { asList, asObject, holds, type Json, type JsonObject, resolve } from "./template.ts";

/** Its properties are CreateTable's. */
export type TableSpec = { readonly name: string; readonly properties: JsonObject };
export type QueueSpec = {
  readonly name: string;
  readonly url: string;
  readonly arn: string;
  readonly attributes: Readonly<Record<string, string>>;
};
export type FunctionSpec = {
  readonly logicalId: string;
  readonly name: string;
  readonly arn: string;
  /** `index.handler` */
  readonly handler: string;
  readonly codeDir: string;
  /** The same code has the same. */
  readonly codeHash: string;
  readonly timeoutMs: number;
  readonly memoryMb: number;
  readonly environment: Readonly<Record<string, string>>;
  readonly reservedConcurrency: number | undefined;
};
export type EventSourceSpec = {
  readonly uuid: string;
  /** As the template has it. */
  readonly enabled: boolean;
  readonly functionArn: string;
  readonly queueArn: string;
  readonly batchSize: number;
  readonly maximumConcurrency: number | undefined;
  readonly reportsFailures: boolean;
};
export type RuleSpec = {
  readonly arn: string;
  readonly everyMinutes: number;
  readonly functionArns: string[];
};
/** Its properties are CreateSchedule's, with dates as text. */
export type ScheduleSpec = { readonly name: string; readonly properties: JsonObject };
export type SecretSpec = { readonly name: string; readonly properties: JsonObject };
type RouteSpec = { readonly key: string; readonly functionArn: string; readonly timeoutMs: number };

/** What of a stack the local runner plays, by kind. */
export type StackSpec = {
  readonly tables: TableSpec[];
  readonly queues: QueueSpec[];
  readonly functions: FunctionSpec[];
  readonly eventSources: EventSourceSpec[];
  readonly rules: RuleSpec[];
  readonly eventRules: EventRuleSpec[];
  /** By their names; the default one is not among them. */
  readonly eventBuses: string[];
  readonly scheduleGroups: string[];
  readonly schedules: ScheduleSpec[];
  readonly secrets: SecretSpec[];
  readonly routes: RouteSpec[];
  /** Types of the template that are neither played nor known to need no playing. */
  readonly unknownTypes: string[];
  /** The names of the tables and queues that a delay queue of the stack cannot do without. */
  readonly required: readonly string[];
  /** What is of a type that is played, but not this one: what it is, and why. */
  readonly leftOut: string[];
};

/** Access, alarms and the like: nothing runs differently here without them. */
const WITHOUT_LOCAL_EFFECT = new Set([
  "AWS::ApiGatewayV2::Api",
  "AWS::ApiGatewayV2::Integration",
  "AWS::ApiGatewayV2::Stage",
  "AWS::CDK::Metadata",
  "AWS::CloudWatch::Alarm",
  "AWS::CloudWatch::CompositeAlarm",
  "AWS::CloudWatch::Dashboard",
  "AWS::Events::EventBusPolicy",
  "AWS::IAM::ManagedPolicy",
  "AWS::IAM::Policy",
  "AWS::IAM::Role",
  "AWS::KMS::Alias",
  "AWS::KMS::Key",
  "AWS::Lambda::EventInvokeConfig",
  "AWS::Lambda::Permission",
  "AWS::Logs::LogGroup",
  "AWS::Logs::ResourcePolicy",
  "AWS::SecretsManager::ResourcePolicy",
  "AWS::SNS::Subscription",
  "AWS::SNS::Topic",
  "AWS::SNS::TopicPolicy",
  "AWS::SQS::QueuePolicy",
]);

/** What API Gateway and Lambda take when the template says nothing. */
const DEFAULT_INTEGRATION_TIMEOUT_MS = 30_000;
const DEFAULT_FUNCTION_TIMEOUT_S = 3;
const DEFAULT_FUNCTION_MEMORY_MB = 128;
const DEFAULT_BATCH_SIZE = 10;

/** A stack of which nothing is played. */
export function emptyStack(): StackSpec {
  return {
    tables: [],
    queues: [],
    functions: [],
    eventSources: [],
    rules: [],
    eventRules: [],
    eventBuses: [],
    scheduleGroups: [],
    schedules: [],
    secrets: [],
    routes: [],
    unknownTypes: [],
    required: [],
    leftOut: [],
  };
}

/**
 * Reads a synthesised stack. What is not played of it is named: an app may have more than a delay queue. Throws
 * `LocalError` if the delay queue's own table or ready queues cannot be played.
 */
export function readStack({ template, assets, others }: Assembly, site: Site): StackSpec {
  const scope = scopeOf(template, site, others);
  const stack = emptyStack();
  // There is one address, so one API is played: the delay queue's, else that of the first route.
  let playedApi = delayQueueApiId(template);
  const propertiesOf = (logicalId: string): JsonObject => {
    const { Type = "", Properties = {} } = template.Resources[logicalId] ?? {};
    return asObject(resolve(playedProperties(Type, Properties), scope));
  };

  for (const [logicalId, resource] of Object.entries(template.Resources)) {
    try {
      if (resource.Condition === undefined || holds(resource.Condition, scope)) add(logicalId, resource.Type);
    } catch (error) {
      if (!(error instanceof LocalError)) throw error;
      stack.leftOut.push(`${logicalId}: ${error.message}`);
    }
  }
  return leaveOutDangling({ ...stack, required: requiredNames(template, scope, stack.functions) });

  function add(logicalId: string, type: string): void {
    const arn = () => scope.attribute(logicalId, "Arn");
    const name = () => scope.attribute(logicalId, "Name");
    switch (type) {
      case "AWS::DynamoDB::Table":
      case "AWS::DynamoDB::GlobalTable":
        stack.tables.push({ name: name(), properties: propertiesOf(logicalId) });
        break;
      case "AWS::SQS::Queue": {
        const url = String(scope.ref(logicalId));
        stack.queues.push({
          name: name(),
          url,
          arn: arn(),
          attributes: queueAttributes(propertiesOf(logicalId)),
        });
        break;
      }
      case "AWS::Lambda::Function":
        stack.functions.push({
          logicalId,
          name: name(),
          arn: arn(),
          ...functionSpec(propertiesOf(logicalId)),
        });
        break;
      case "AWS::Lambda::EventSourceMapping":
        stack.eventSources.push({ uuid: name(), ...eventSource(propertiesOf(logicalId)) });
        break;
      case "AWS::Events::Rule": {
        const properties = propertiesOf(logicalId);
        if (properties.State === "DISABLED") break;
        if (properties.EventPattern === undefined) stack.rules.push(rule(arn(), properties));
        else stack.eventRules.push(readEventRule(arn(), properties));
        break;
      }
      case "AWS::Events::EventBus":
        stack.eventBuses.push(name());
        break;
      case "AWS::Scheduler::ScheduleGroup":
        stack.scheduleGroups.push(name());
        break;
      case "AWS::Scheduler::Schedule":
        stack.schedules.push({ name: name(), properties: propertiesOf(logicalId) });
        break;
      case "AWS::SecretsManager::Secret":
        stack.secrets.push({ name: name(), properties: propertiesOf(logicalId) });
        break;
      case "AWS::ApiGatewayV2::Route":
        stack.routes.push(route(propertiesOf(logicalId)));
        break;
      default:
        if (!WITHOUT_LOCAL_EFFECT.has(type) && !stack.unknownTypes.includes(type))
          stack.unknownTypes.push(type);
    }
  }

  function functionSpec(properties: JsonObject): Omit<FunctionSpec, "logicalId" | "name" | "arn"> {
    const code = asObject(properties.Code);
    const codeDir = assets.get(String(code.S3Key));
    if (codeDir === undefined) throw new LocalError("the function's code is not among the app's assets");
    const runtime = String(properties.Runtime);
    if (!runtime.startsWith("nodejs"))
      throw new LocalError(`the function's runtime is ${runtime}; the local stack runs only Node.js`);
    const variables = asObject(asObject(properties.Environment).Variables);
    return {
      handler: String(properties.Handler),
      codeDir,
      codeHash: String(code.S3Key),
      timeoutMs: numberOr(properties.Timeout, DEFAULT_FUNCTION_TIMEOUT_S) * 1000,
      memoryMb: numberOr(properties.MemorySize, DEFAULT_FUNCTION_MEMORY_MB),
      environment: Object.fromEntries(
        Object.entries(variables).map(([key, value]) => [key, atLocalQueues(String(value))]),
      ),
      reservedConcurrency: optionalNumber(properties.ReservedConcurrentExecutions),
    };
  }

  /** A queue URL put together from the region and account, not by `Ref`, names the real SQS. */
  function atLocalQueues(value: string): string {
    return value.replaceAll(`https://sqs.${site.region}.${URL_SUFFIX}`, site.sqsEndpoint);
  }

  /** The function may be named by its ARN or by its name alone. */
  function asFunctionArn(reference: string): string {
    if (reference.startsWith("arn:")) return reference;
    return `arn:aws:lambda:${site.region}:${site.account}:function:${reference}`;
  }

  function eventSource(properties: JsonObject): Omit<EventSourceSpec, "uuid"> {
    const scaling = asObject(properties.ScalingConfig);
    return {
      enabled: properties.Enabled !== false,
      functionArn: asFunctionArn(String(properties.FunctionName)),
      queueArn: String(properties.EventSourceArn),
      batchSize: Math.min(numberOr(properties.BatchSize, DEFAULT_BATCH_SIZE), 10),
      maximumConcurrency: optionalNumber(scaling.MaximumConcurrency),
      reportsFailures: asList(properties.FunctionResponseTypes).includes("ReportBatchItemFailures"),
    };
  }

  function route(properties: JsonObject): RouteSpec {
    const api = String(properties.ApiId);
    playedApi ??= api;
    if (api !== playedApi)
      throw new LocalError(
        `route ${properties.RouteKey} is of the API ${api}; the local stack runs only the API ${playedApi}`,
      );
    const integrationId = String(properties.Target).replace(/^integrations\//, "");
    const integration = propertiesOf(integrationId);
    // The URI is the function's ARN or API Gateway's path that contains it.
    const [functionArn] =
      /arn:aws:lambda:[^:]*:[^:]*:function:[\w-]+/.exec(String(integration.IntegrationUri)) ?? [];
    if (functionArn === undefined || integration.PayloadFormatVersion !== "2.0")
      throw new LocalError(`route ${properties.RouteKey} must lead to a function with payload format 2.0`);
    return {
      key: String(properties.RouteKey),
      functionArn,
      timeoutMs: numberOr(integration.TimeoutInMillis, DEFAULT_INTEGRATION_TIMEOUT_MS),
    };
  }
}

function rule(arn: string, properties: JsonObject): RuleSpec {
  const [, minutes] = /^rate\((\d+) minutes?\)$/.exec(String(properties.ScheduleExpression)) ?? [];
  if (minutes === undefined)
    throw new LocalError(
      `rule ${arn} is ${properties.ScheduleExpression}; the local stack supports only rate(… minutes) and event patterns`,
    );
  const functionArns = asList(properties.Targets).map((target) => String(asObject(target).Arn));
  return { arn, everyMinutes: Number(minutes), functionArns };
}

function queueAttributes(properties: JsonObject): Record<string, string> {
  const attributes = Object.entries(properties);
  return Object.fromEntries(
    attributes.map(([name, value]) => [
      name,
      typeof value === "object" ? JSON.stringify(value) : String(value),
    ]),
  );
}

function optionalNumber(value: Json | undefined): number | undefined {
  return value === undefined || value === null ? undefined : Number(value);
}

function numberOr(value: Json | undefined, fallback: number): number {
  return optionalNumber(value) ?? fallback;
}
