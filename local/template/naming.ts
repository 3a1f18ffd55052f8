import { createHash } from "node:crypto";
import { type Json, type Resource, resolve, type Scope, type Template } from "./template.ts";

export type Site = {
  readonly account: string;
  readonly region: string;
  readonly stackName: string;
  /** `http://127.0.0.1:4566`. Queue URLs begin with it. */
  readonly sqsEndpoint: string;
  readonly apiUrl: string;
};

export const URL_SUFFIX = "amazonaws.com";

/** The property that names a resource, by resource type. Without this property the name is `<stack>-<logical id>`. */
const NAME_PROPERTIES: Readonly<Record<string, string>> = {
  "AWS::DynamoDB::Table": "TableName",
  "AWS::DynamoDB::GlobalTable": "TableName",
  "AWS::SQS::Queue": "QueueName",
  "AWS::Lambda::Function": "FunctionName",
  "AWS::Lambda::Alias": "Name",
  "AWS::Events::EventBus": "Name",
  "AWS::Events::Rule": "Name",
  "AWS::Scheduler::Schedule": "Name",
  "AWS::Scheduler::ScheduleGroup": "Name",
  "AWS::SecretsManager::Secret": "Name",
};

export type NamedTemplate = { readonly stackName: string; readonly template: Template };

/** Imported values come from the app's other stacks. */
export function scopeOf(template: Template, site: Site, others: readonly NamedTemplate[] = []): Scope {
  const pseudo: Readonly<Record<string, string>> = {
    "AWS::AccountId": site.account,
    "AWS::Region": site.region,
    "AWS::Partition": "aws",
    "AWS::URLSuffix": URL_SUFFIX,
    "AWS::StackName": site.stackName,
    "AWS::StackId": `arn:aws:cloudformation:${site.region}:${site.account}:stack/${site.stackName}/local`,
  };
  const scope: Scope = {
    conditions: template.Conditions ?? {},
    ref: (name) => {
      const resource = template.Resources[name];
      if (resource) return identityOf(name, resource, site, scope).ref;
      const parameter = template.Parameters?.[name];
      return parameter ? (parameter.Default ?? "") : pseudo[name];
    },
    attribute: (logicalId, attribute) => {
      const resource = template.Resources[logicalId];
      if (!resource) throw new Error(`Fn::GetAtt names ${logicalId}, which the template does not declare`);
      if (attribute === "Arn" || attribute.endsWith("Arn"))
        return identityOf(logicalId, resource, site, scope).arn;
      if (attribute === "ApiEndpoint") return site.apiUrl;
      return identityOf(logicalId, resource, site, scope).name;
    },
    imported: (name) => importedValue(name, site, others),
  };
  return scope;
}

function importedValue(name: string, site: Site, others: readonly NamedTemplate[]): Json {
  for (const { template, stackName } of others) {
    const scope = scopeOf(template, { ...site, stackName }, others);
    for (const { Export, Value = null } of Object.values(template.Outputs ?? {}))
      if (Export && resolve(Export.Name, scope) === name) return resolve(Value, scope);
  }
  // A stack outside the app exports it. No local resource has the export's name, so the log shows that name wherever a resource needs it.
  return name;
}

type Identity = { readonly name: string; readonly ref: Json; readonly arn: string };

function identityOf(logicalId: string, resource: Resource, site: Site, scope: Scope): Identity {
  const { account, sqsEndpoint } = site;
  const name = nameOf(logicalId, resource, site, scope);
  const arn = arnOf(name, resource, site, scope);
  switch (resource.Type) {
    case "AWS::SQS::Queue":
      return { name, ref: `${sqsEndpoint}/${account}/${name}`, arn };
    case "AWS::SecretsManager::Secret":
      return { name, ref: arn, arn };
    case "AWS::Lambda::Alias":
    case "AWS::Lambda::Version": {
      const fn = lambdaArn(String(resolve(resource.Properties?.FunctionName ?? "", scope)), site);
      const qualified = `${fn}:${resource.Type === "AWS::Lambda::Alias" ? name : 1}`;
      return { name, ref: qualified, arn: qualified };
    }
    default:
      return { name, ref: name, arn };
  }
}

/** `name`: the name or the ARN of a function. */
export function lambdaArn(name: string, { region, account }: Site): string {
  return name.startsWith("arn:") ? name : `arn:aws:lambda:${region}:${account}:function:${name}`;
}

function nameOf(logicalId: string, { Type, Properties }: Resource, site: Site, scope: Scope): string {
  if (Type === "AWS::Lambda::EventSourceMapping") return stableUuid(`${site.stackName}/${logicalId}`);
  const property = NAME_PROPERTIES[Type];
  const given = property && Properties?.[property];
  if (given) return String(resolve(given, scope));
  return property ? `${site.stackName}-${logicalId}` : logicalId;
}

/** What stands before the name in an ARN, by resource type: the service, and the path. */
const ARNS: Readonly<Record<string, readonly [service: string, path: string]>> = {
  "AWS::SQS::Queue": ["sqs", ""],
  "AWS::DynamoDB::Table": ["dynamodb", "table/"],
  "AWS::DynamoDB::GlobalTable": ["dynamodb", "table/"],
  "AWS::Lambda::Function": ["lambda", "function:"],
  "AWS::Lambda::EventSourceMapping": ["lambda", "event-source-mapping:"],
  "AWS::Events::Rule": ["events", "rule/"],
  "AWS::Events::EventBus": ["events", "event-bus/"],
  "AWS::Scheduler::ScheduleGroup": ["scheduler", "schedule-group/"],
  // On AWS six random characters follow. Secrets Manager also finds a secret by an ARN without them.
  "AWS::SecretsManager::Secret": ["secretsmanager", "secret:"],
};

function arnOf(
  name: string,
  { Type, Properties }: Resource,
  { region, account }: Site,
  scope: Scope,
): string {
  if (Type === "AWS::IAM::Role") return `arn:aws:iam::${account}:role/${name}`;
  if (Type === "AWS::Scheduler::Schedule") {
    const group = String(resolve(Properties?.GroupName ?? "default", scope));
    return `arn:aws:scheduler:${region}:${account}:schedule/${group}/${name}`;
  }
  const [service, path] = ARNS[Type] ?? [Type.split("::")[1]?.toLowerCase() ?? "local", ""];
  return `arn:aws:${service}:${region}:${account}:${path}${name}`;
}

/** Makes the same UUID at each start, because the data folder keeps the mapping's state by its UUID. */
function stableUuid(name: string): string {
  const hex = createHash("sha256").update(name).digest("hex");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, "$1-$2-$3-$4-$5");
}
