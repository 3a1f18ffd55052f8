import type { Assembly } from "./assembly.ts";
import { type BundleNote, readBundleNote } from "./bundle-note.ts";
import { delayQueueApiId, requiredNames } from "./delay-queue.ts";
import { type EventRuleSpec, readEventRule } from "./event-rule.ts";
import { leaveOutDangling } from "./left-out.ts";
import { LocalError } from "./local-error.ts";
import { type Site, scopeOf, URL_SUFFIX } from "./naming.ts";
import { playedProperties } from "./played-properties.ts";
import { hashCode } from "./rebuild.ts";
import { asList, asObject, holds, type Json, type JsonObject, resolve } from "./template.ts";

/** `properties` are those of CreateTable, and `TimeToLiveSpecification`. */
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
  /** A hash that changes only with the code. `codeDir` changes with each synthesis. */
  readonly codeHash: string;
  readonly timeoutMs: number;
  readonly memoryMb: number;
  readonly environment: Readonly<Record<string, string>>;
  readonly reservedConcurrency: number | undefined;
  /** How the app has bundled the code. Absent: another tool has made the code. */
  readonly bundle?: BundleNote | undefined;
};
export type EventSourceSpec = {
  readonly uuid: string;
  /** Whether the template enables the event source. */
  readonly enabled: boolean;
  readonly functionArn: string;
  readonly queueArn: string;
  readonly batchSize: number;
  readonly maximumConcurrency: number | undefined;
  readonly reportsFailures: boolean;
};
/** A rule that invokes functions every few minutes. */
export type RuleSpec = {
  readonly arn: string;
  readonly everyMinutes: number;
  readonly functionArns: string[];
};
/** `properties` are those of CreateSchedule, with dates as text. */
export type ScheduleSpec = { readonly name: string; readonly properties: JsonObject };
export type SecretSpec = { readonly name: string; readonly properties: JsonObject };
type RouteSpec = { readonly key: string; readonly functionArn: string; readonly timeoutMs: number };

/** The parts of a synthesised stack that the local stack plays, by kind, and the parts that it leaves out. */
export type StackSpec = {
  readonly tables: TableSpec[];
  readonly queues: QueueSpec[];
  readonly functions: FunctionSpec[];
  readonly eventSources: EventSourceSpec[];
  readonly rules: RuleSpec[];
  readonly eventRules: EventRuleSpec[];
  /** Names. The default bus is not among them. */
  readonly eventBuses: string[];
  readonly scheduleGroups: string[];
  readonly schedules: ScheduleSpec[];
  readonly secrets: SecretSpec[];
  readonly routes: RouteSpec[];
  /** The template's resource types that are neither played nor in `WITHOUT_LOCAL_EFFECT`. */
  readonly unknownTypes: string[];
  /** The names of the tables and queues without which a delay queue of the stack cannot run. */
  readonly required: readonly string[];
  /**
   * A line with the name and the reason for each resource that is not played, although the local stack plays other resources of the same
   * type.
   */
  readonly leftOut: string[];
  /** The warnings of the synthesis. */
  readonly warnings: readonly string[];
};

/** Resource types that change nothing on this machine, such as permissions and alarms. */
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

/** The defaults of API Gateway and Lambda. */
const DEFAULT_INTEGRATION_TIMEOUT_MS = 30_000;
const DEFAULT_FUNCTION_TIMEOUT_S = 3;
const DEFAULT_FUNCTION_MEMORY_MB = 128;
const DEFAULT_BATCH_SIZE = 10;
/** SQS gives at most ten messages for one receive. Lambda can combine several receives, which is not played. */
const MAX_BATCH_SIZE = 10;

/** Makes a spec without any resource. */
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
    warnings: [],
  };
}

/**
 * Reads a synthesised stack. Names the resources that are not played in `leftOut`, since an app may have more than a delay queue.
 * Throws `LocalError` if a delay queue's table or one of its ready queues cannot be played.
 */
export function readStack({ template, assets, others, warnings }: Assembly, site: Site): StackSpec {
  const scope = scopeOf(template, site, others);
  const stack: StackSpec = { ...emptyStack(), warnings };
  // The local stack has one address, so it plays one API: the delay queue's, else the API of the first route.
  let playedApi = delayQueueApiId(template);
  /** The routes of the APIs that are not played. */
  const otherApis = new Map<string, string[]>();
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
  for (const [api, routes] of otherApis)
    stack.leftOut.push(
      `the API ${api} with ${routes.join(", ")}: the local stack has one address, so it plays only the API ${playedApi}`,
    );
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
          ...functionSpec(propertiesOf(logicalId), readBundleNote(template.Resources[logicalId]?.Metadata)),
        });
        break;
      case "AWS::Lambda::EventSourceMapping":
        stack.eventSources.push({ uuid: name(), ...eventSource(propertiesOf(logicalId)) });
        break;
      case "AWS::Events::Rule": {
        const properties = propertiesOf(logicalId);
        if (properties.State === "DISABLED") break;
        if (properties.EventPattern === undefined) stack.rules.push(scheduledRule(arn(), properties));
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
      case "AWS::ApiGatewayV2::Route": {
        const properties = propertiesOf(logicalId);
        const api = String(properties.ApiId);
        playedApi ??= api;
        if (api === playedApi) stack.routes.push(route(properties));
        else otherApis.set(api, [...(otherApis.get(api) ?? []), String(properties.RouteKey)]);
        break;
      }
      default:
        if (!WITHOUT_LOCAL_EFFECT.has(type) && !stack.unknownTypes.includes(type))
          stack.unknownTypes.push(type);
    }
  }

  function functionSpec(
    properties: JsonObject,
    bundle: BundleNote | undefined,
  ): Omit<FunctionSpec, "logicalId" | "name" | "arn"> {
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
      // The CDK's hash cannot be compared with the hash of code that the runner bundles.
      codeHash: bundle?.build ? hashCode(codeDir) : String(code.S3Key),
      ...(bundle && { bundle }),
      timeoutMs: numberOr(properties.Timeout, DEFAULT_FUNCTION_TIMEOUT_S) * 1000,
      memoryMb: numberOr(properties.MemorySize, DEFAULT_FUNCTION_MEMORY_MB),
      environment: Object.fromEntries(
        Object.entries(variables).map(([key, value]) => [key, useLocalSqs(String(value))]),
      ),
      reservedConcurrency: optionalNumber(properties.ReservedConcurrentExecutions),
    };
  }

  /** Replaces the host of the real SQS, which a template names if it builds a queue URL from region and account, not by `Ref`. */
  function useLocalSqs(value: string): string {
    return value.replaceAll(`https://sqs.${site.region}.${URL_SUFFIX}`, site.sqsEndpoint);
  }

  /** Answers the ARN of a function, which a template may refer to by name or by ARN. */
  function functionArnOf(reference: string): string {
    if (reference.startsWith("arn:")) return reference;
    return `arn:aws:lambda:${site.region}:${site.account}:function:${reference}`;
  }

  function eventSource(properties: JsonObject): Omit<EventSourceSpec, "uuid"> {
    const scaling = asObject(properties.ScalingConfig);
    return {
      enabled: properties.Enabled !== false,
      functionArn: functionArnOf(String(properties.FunctionName)),
      queueArn: String(properties.EventSourceArn),
      batchSize: Math.min(numberOr(properties.BatchSize, DEFAULT_BATCH_SIZE), MAX_BATCH_SIZE),
      maximumConcurrency: optionalNumber(scaling.MaximumConcurrency),
      reportsFailures: asList(properties.FunctionResponseTypes).includes("ReportBatchItemFailures"),
    };
  }

  function route(properties: JsonObject): RouteSpec {
    const integrationId = String(properties.Target).replace(/^integrations\//, "");
    const integration = propertiesOf(integrationId);
    // The URI is the function's ARN, or a path of API Gateway that contains the ARN.
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

function scheduledRule(arn: string, properties: JsonObject): RuleSpec {
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
