/** The quotas of the pages "CloudFormation quotas" and "IAM and AWS STS quotas" in the user guides. */
const MOST = {
  bytes: 1_000_000,
  resources: 500,
  policiesOfRole: 10,
  policyChars: 6_144,
  inlineChars: 10_240,
};

type Resource = { Type: string; Properties?: Record<string, unknown> };
export type Policy = { id: string; roles: string[]; isManaged: boolean; document: unknown };

/** For each of CloudFormation's pseudo parameters, a value as long as the longest one. */
const PSEUDO: Record<string, string> = {
  "AWS::Partition": "aws-us-gov",
  "AWS::Region": "ap-southeast-1",
  "AWS::AccountId": "123456789012",
  "AWS::URLSuffix": "amazonaws.com.cn",
};

/** The policies of a template's roles. Its references are replaced by ARNs and names as long as those of a deployment. */
export function policiesIn(text: string): Policy[] {
  const { Resources } = JSON.parse(text) as { Resources: Record<string, Resource> };
  return Object.entries(Resources).flatMap(([id, { Type, Properties = {} }]) => {
    if (Type !== "AWS::IAM::Policy" && Type !== "AWS::IAM::ManagedPolicy") return [];
    const roles = (Properties.Roles as { Ref: string }[]).map(({ Ref }) => Ref);
    const isManaged = Type === "AWS::IAM::ManagedPolicy";
    return [{ id, roles, isManaged, document: deployed(Properties.PolicyDocument, Resources) }];
  });
}

/** Describes each quota of CloudFormation or IAM that a template exceeds. */
export function limitFaults(text: string): string[] {
  const { Resources } = JSON.parse(text) as { Resources: Record<string, Resource> };
  const faults: string[] = [];
  const check = (what: string, is: number, most: number): void => {
    if (is > most) faults.push(`${what} must be at most ${most}, is ${is}`);
  };
  check("the template's bytes", Buffer.byteLength(text), MOST.bytes);
  check("its resources", Object.keys(Resources).length, MOST.resources);
  const attached = policiesIn(text).flatMap(({ roles, document, ...policy }) =>
    roles.map((role) => ({ ...policy, role, chars: JSON.stringify(document).length })),
  );
  for (const [role, all] of Map.groupBy(attached, ({ role }) => role)) {
    const managed = all.filter(({ isManaged }) => isManaged);
    const inline = all.filter(({ isManaged }) => !isManaged);
    check(`${role}'s managed policies`, managed.length, MOST.policiesOfRole);
    for (const { id, chars } of managed) check(`${id}'s characters`, chars, MOST.policyChars);
    const chars = inline.reduce((sum, one) => sum + one.chars, 0);
    check(`the characters of ${role}'s own policies`, chars, MOST.inlineChars);
  }
  return faults;
}

/** A value of a template, about as it is in a deployment. */
function deployed(value: unknown, resources: Record<string, Resource>): unknown {
  const of = (part: unknown): unknown => deployed(part, resources);
  if (Array.isArray(value)) return value.map(of);
  if (typeof value !== "object" || value === null) return value;
  const { Ref: ref, "Fn::GetAtt": attribute, "Fn::Join": join } = value as Record<string, unknown>;
  if (typeof ref === "string") return PSEUDO[ref] ?? nameOf(ref, resources);
  if (Array.isArray(attribute)) return nameOf(attribute[0], resources);
  if (Array.isArray(join)) {
    const [delimiter, parts] = join as [string, unknown[]];
    return parts.map(of).join(delimiter);
  }
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, of(part)]));
}

/** The service, and what follows region and account. Names that CloudFormation chooses have at most 64 characters. */
const CHOSEN = "n".repeat(64);
const ARNS: Record<string, string> = {
  "AWS::DynamoDB::Table": `dynamodb:table/${CHOSEN}`,
  "AWS::IAM::Role": `iam:role/${CHOSEN}`,
  "AWS::KMS::Key": "kms:key/01234567-89ab-cdef-0123-456789abcdef",
  "AWS::Lambda::Function": `lambda:function:${CHOSEN}`,
  "AWS::Logs::LogGroup": `logs:log-group:/aws/lambda/${CHOSEN}:*`,
  "AWS::SQS::Queue": "sqs:",
  "AWS::SecretsManager::Secret": `secretsmanager:secret:${CHOSEN}`,
};

/** The ARN of a resource, or the id of an event source mapping, because a reference to a mapping is its id. */
function nameOf(id: string, resources: Record<string, Resource>): string {
  const { Type = "", Properties = {} } = resources[id] ?? {};
  if (Type === "AWS::Lambda::EventSourceMapping") return "01234567-89ab-cdef-0123-456789abcdef";
  const arn = ARNS[Type];
  if (arn === undefined) throw new Error(`a policy names ${id}, whose type ${Type} is not known here`);
  const [, service, name] = /^(\w+):(.*)$/.exec(arn) ?? [];
  const region = service === "iam" ? "" : PSEUDO["AWS::Region"];
  const ownName = Type === "AWS::SQS::Queue" ? String(deployed(Properties.QueueName, resources)) : "";
  return `arn:aws-us-gov:${service}:${region}:${PSEUDO["AWS::AccountId"]}:${name}${ownName}`;
}
