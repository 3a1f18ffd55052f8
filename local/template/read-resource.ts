import { type BundleNote, readBundleNote } from "../app/bundle-note.ts";
import { hashCode, withFolderCode } from "../app/rebuild.ts";
import { LocalError } from "../local-error.ts";
import { isTickRule } from "./delay-queue.ts";
import { readEventRule } from "./event-rule.ts";
import { lambdaArn, type Site, URL_SUFFIX } from "./naming.ts";
import { playedProperties } from "./played-properties.ts";
import type { EventSourceSpec, FunctionSpec, RouteSpec, RuleSpec, StackSpec } from "./resources.ts";
import {
  asList,
  asObject,
  type Json,
  type JsonObject,
  resolve,
  type Scope,
  type Template,
} from "./template.ts";

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
  "AWS::Lambda::Alias",
  "AWS::Lambda::EventInvokeConfig",
  "AWS::Lambda::Permission",
  "AWS::Lambda::Version",
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
/** How many parts a function's ARN has. The ARN of an alias or a version has one more. */
const FUNCTION_ARN_PARTS = 7;

/** Node's channel to a child is no socket on Windows, and Python can use only a socket. */
const canRunPython = process.platform !== "win32";
const RUNTIMES = canRunPython ? "Node.js and Python" : "Node.js";

export type Reading = {
  readonly template: Template;
  readonly assets: ReadonlyMap<string, string>;
  readonly scope: Scope;
  readonly site: Site;
};

/** A resource whose name, ARN and properties are resolved only when its type needs them. */
type Declared = {
  readonly logicalId: string;
  readonly name: () => string;
  readonly arn: () => string;
  readonly properties: () => JsonObject;
  readonly reading: Reading;
};

const READERS: Readonly<Record<string, (declared: Declared) => Partial<StackSpec>>> = {
  "AWS::ApiGatewayV2::Authorizer": ({ logicalId }) => ({
    leftOut: [`${logicalId}: the local API asks no authorizer, and takes every call from this machine`],
  }),
  "AWS::DynamoDB::Table": readTable,
  "AWS::DynamoDB::GlobalTable": readTable,
  "AWS::SQS::Queue": readQueue,
  "AWS::Lambda::Function": readFunction,
  "AWS::Lambda::EventSourceMapping": ({ name, properties, reading: { site } }) => ({
    eventSources: [{ uuid: name(), ...eventSource(properties(), site) }],
  }),
  "AWS::Events::Rule": readRule,
  "AWS::Events::EventBus": ({ name }) => ({ eventBuses: [name()] }),
  "AWS::Scheduler::ScheduleGroup": ({ name }) => ({ scheduleGroups: [name()] }),
  "AWS::Scheduler::Schedule": ({ name, properties }) => ({
    schedules: [{ name: name(), properties: properties() }],
  }),
  "AWS::SecretsManager::Secret": ({ name, properties }) => ({
    secrets: [{ name: name(), properties: properties() }],
  }),
};

/** Routes of other APIs than `playedApi` are no part of the stack. Throws `LocalError` if the resource cannot be played. */
export function readResource(
  reading: Reading,
  logicalId: string,
  playedApi: string | undefined,
): Partial<StackSpec> {
  const { scope, template } = reading;
  const type = template.Resources[logicalId]?.Type ?? "";
  const properties = () => propertiesOf(reading, logicalId);
  if (type === "AWS::ApiGatewayV2::Route")
    return String(properties().ApiId) === playedApi ? { routes: [route(properties(), reading)] } : {};
  const read = READERS[type];
  if (!read) return { unknownTypes: WITHOUT_LOCAL_EFFECT.has(type) ? [] : [type] };
  const name = () => scope.attribute(logicalId, "Name");
  const arn = () => scope.attribute(logicalId, "Arn");
  return read({ logicalId, name, arn, properties, reading });
}

export function propertiesOf({ template, scope }: Reading, logicalId: string): JsonObject {
  const { Type = "", Properties = {} } = template.Resources[logicalId] ?? {};
  return asObject(resolve(playedProperties(Type, Properties), scope));
}

function readTable({ name, properties }: Declared): Partial<StackSpec> {
  return { tables: [{ name: name(), properties: properties() }] };
}

function readQueue({ logicalId, name, arn, properties, reading: { scope } }: Declared): Partial<StackSpec> {
  const url = String(scope.ref(logicalId));
  return { queues: [{ name: name(), url, arn: arn(), attributes: queueAttributes(properties()) }] };
}

function readFunction({ logicalId, name, arn, properties, reading }: Declared): Partial<StackSpec> {
  const note = readBundleNote(reading.template.Resources[logicalId]?.Metadata);
  return {
    functions: [{ logicalId, name: name(), arn: arn(), ...functionSpec(properties(), note, reading) }],
  };
}

function readRule({ arn, properties: resolved }: Declared): Partial<StackSpec> {
  const properties = resolved();
  if (properties.State === "DISABLED") return {};
  if (properties.EventPattern === undefined) return { rules: [scheduledRule(arn(), properties)] };
  return { eventRules: [readEventRule(arn(), properties)] };
}

function functionSpec(
  properties: JsonObject,
  bundle: BundleNote | undefined,
  { assets, site }: Reading,
): Omit<FunctionSpec, "logicalId" | "name" | "arn"> {
  const code = asObject(properties.Code);
  const codeDir = assets.get(String(code.S3Key));
  if (codeDir === undefined) throw new LocalError("the function's code is not among the app's assets");
  const runtime = String(properties.Runtime);
  const isPython = runtime.startsWith("python");
  if (!runtime.startsWith("nodejs") && !(isPython && canRunPython))
    throw new LocalError(`the function's runtime is ${runtime}; the local stack runs only ${RUNTIMES}`);
  const variables = asObject(asObject(properties.Environment).Variables);
  const spec = {
    handler: String(properties.Handler),
    codeDir,
    ...(isPython && { isPython: true as const }),
    // The CDK's hash cannot be compared with the hash of code that the runner bundles.
    codeHash: bundle?.build ? hashCode(codeDir) : String(code.S3Key),
    ...(bundle && { bundle }),
    timeoutMs: numberOr(properties.Timeout, DEFAULT_FUNCTION_TIMEOUT_S) * 1000,
    memoryMb: numberOr(properties.MemorySize, DEFAULT_FUNCTION_MEMORY_MB),
    environment: Object.fromEntries(
      Object.entries(variables).map(([key, value]) => [key, useLocalSqs(String(value), site)]),
    ),
    reservedConcurrency: optionalNumber(properties.ReservedConcurrentExecutions),
  };
  return bundle?.folder === undefined ? spec : withFolderCode(spec, bundle.folder);
}

/** Replaces the host of the real SQS, which a template names if it builds a queue URL from region and account, not by `Ref`. */
function useLocalSqs(value: string, { region, sqsEndpoint }: Site): string {
  return value.replaceAll(`https://sqs.${region}.${URL_SUFFIX}`, sqsEndpoint);
}

/** Leaves out the alias or the version: the local stack has one version of each function, the current one. */
function functionArnOf(reference: string, site: Site): string {
  return lambdaArn(reference, site).split(":").slice(0, FUNCTION_ARN_PARTS).join(":");
}

function eventSource(properties: JsonObject, site: Site): Omit<EventSourceSpec, "uuid"> {
  const scaling = asObject(properties.ScalingConfig);
  return {
    enabled: properties.Enabled !== false,
    functionArn: functionArnOf(String(properties.FunctionName), site),
    queueArn: String(properties.EventSourceArn),
    batchSize: Math.min(numberOr(properties.BatchSize, DEFAULT_BATCH_SIZE), MAX_BATCH_SIZE),
    maximumConcurrency: optionalNumber(scaling.MaximumConcurrency),
    reportsFailures: asList(properties.FunctionResponseTypes).includes("ReportBatchItemFailures"),
  };
}

function route(properties: JsonObject, reading: Reading): RouteSpec {
  const integrationId = String(properties.Target).replace(/^integrations\//, "");
  const integration = propertiesOf(reading, integrationId);
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

function scheduledRule(arn: string, properties: JsonObject): RuleSpec {
  const [, minutes] = /^rate\((\d+) minutes?\)$/.exec(String(properties.ScheduleExpression)) ?? [];
  if (minutes === undefined)
    throw new LocalError(
      `rule ${arn} is ${properties.ScheduleExpression}; the local stack supports only rate(… minutes) and event patterns`,
    );
  const functionArns = asList(properties.Targets).map((target) => String(asObject(target).Arn));
  return { arn, everyMinutes: Number(minutes), functionArns, isTick: isTickRule(properties) };
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
