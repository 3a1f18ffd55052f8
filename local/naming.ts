import { createHash } from "node:crypto";
import { type Json, type Resource, resolve, type Scope, type Template } from "./template.ts";

/** The account, region, stack name and URLs that pseudo parameters and the names of resources contain. */
export type Site = {
  readonly account: string;
  readonly region: string;
  readonly stackName: string;
  /** `http://127.0.0.1:4566`. Queue URLs begin with it. */
  readonly sqsEndpoint: string;
  /** `http://127.0.0.1:4500` */
  readonly apiUrl: string;
};

export const URL_SUFFIX = "amazonaws.com";

/** The property that names a resource, by resource type. Without this property the name is `<stack>-<logical id>`. */
const NAME_PROPERTIES: Readonly<Record<string, string>> = {
  "AWS::DynamoDB::Table": "TableName",
  "AWS::DynamoDB::GlobalTable": "TableName",
  "AWS::SQS::Queue": "QueueName",
  "AWS::Lambda::Function": "FunctionName",
  "AWS::Events::EventBus": "Name",
  "AWS::Events::Rule": "Name",
  "AWS::Scheduler::Schedule": "Name",
  "AWS::Scheduler::ScheduleGroup": "Name",
  "AWS::SecretsManager::Secret": "Name",
};

export type NamedTemplate = { readonly stackName: string; readonly template: Template };

/**
 * Makes the scope that resolves a template's `Ref`, `Fn::GetAtt` and `Fn::ImportValue`. Imported values come from the app's other
 * stacks.
 */
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
      if (resource) return identity(name, resource).ref;
      const parameter = template.Parameters?.[name];
      return parameter ? (parameter.Default ?? "") : pseudo[name];
    },
    attribute: (logicalId, attribute) => {
      const resource = template.Resources[logicalId];
      if (!resource) throw new Error(`Fn::GetAtt names ${logicalId}, which the template does not declare`);
      if (attribute === "Arn" || attribute.endsWith("Arn")) return identity(logicalId, resource).arn;
      if (attribute === "ApiEndpoint") return site.apiUrl;
      return identity(logicalId, resource).name;
    },
    imported: (name) => {
      for (const other of others) {
        const theirs = scopeOf(other.template, { ...site, stackName: other.stackName }, others);
        for (const { Export, Value = null } of Object.values(other.template.Outputs ?? {}))
          if (Export && resolve(Export.Name, theirs) === name) return resolve(Value, theirs);
      }
      // The export belongs to a stack outside the app. Use the export's name as its value. No local resource has that name, so
      // the log names the export wherever a resource needs the value.
      return name;
    },
  };

  function identity(logicalId: string, resource: Resource): { name: string; ref: Json; arn: string } {
    const property = NAME_PROPERTIES[resource.Type];
    const given = property && resource.Properties?.[property];
    const name = given
      ? String(resolve(given, scope))
      : property
        ? `${site.stackName}-${logicalId}`
        : logicalId;
    const arn = (service: string, path: string) =>
      `arn:aws:${service}:${site.region}:${site.account}:${path}`;
    switch (resource.Type) {
      case "AWS::SQS::Queue":
        return { name, ref: `${site.sqsEndpoint}/${site.account}/${name}`, arn: arn("sqs", name) };
      case "AWS::DynamoDB::Table":
      case "AWS::DynamoDB::GlobalTable":
        return { name, ref: name, arn: arn("dynamodb", `table/${name}`) };
      case "AWS::Lambda::Function":
        return { name, ref: name, arn: arn("lambda", `function:${name}`) };
      case "AWS::Events::Rule":
        return { name, ref: name, arn: arn("events", `rule/${name}`) };
      case "AWS::Events::EventBus":
        return { name, ref: name, arn: arn("events", `event-bus/${name}`) };
      case "AWS::Lambda::EventSourceMapping": {
        const uuid = stableUuid(`${site.stackName}/${logicalId}`);
        return { name: uuid, ref: uuid, arn: arn("lambda", `event-source-mapping:${uuid}`) };
      }
      case "AWS::Scheduler::Schedule": {
        const group = String(resolve(resource.Properties?.GroupName ?? "default", scope));
        return { name, ref: name, arn: arn("scheduler", `schedule/${group}/${name}`) };
      }
      case "AWS::Scheduler::ScheduleGroup":
        return { name, ref: name, arn: arn("scheduler", `schedule-group/${name}`) };
      case "AWS::SecretsManager::Secret": {
        // On AWS six random characters follow. Secrets Manager also finds a secret by an ARN without them.
        const secretArn = arn("secretsmanager", `secret:${name}`);
        return { name, ref: secretArn, arn: secretArn };
      }
      case "AWS::IAM::Role":
        return { name, ref: name, arn: `arn:aws:iam::${site.account}:role/${name}` };
      default:
        return { name, ref: name, arn: arn(resource.Type.split("::")[1]?.toLowerCase() ?? "local", name) };
    }
  }

  return scope;
}

/** Makes the same UUID at each start, because the data folder keeps the mapping's state by its UUID. */
function stableUuid(name: string): string {
  const hex = createHash("sha256").update(name).digest("hex");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, "$1-$2-$3-$4-$5");
}
