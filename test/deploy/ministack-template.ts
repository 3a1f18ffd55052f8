import { copyFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { cannot } from "../e2e/places.ts";

type Statement = { Action: string | string[]; Resource: unknown };
type Resource = {
  Type: string;
  Properties?: {
    PolicyDocument?: { Statement: Statement[] };
    GenerateSecretString?: { ExcludePunctuation?: boolean; ExcludeCharacters?: string };
  };
};

type Adapt = (resource: Resource) => void;

export function adaptTemplate(path: string, adaptations: readonly Adapt[]): void {
  const template = JSON.parse(readFileSync(path, "utf8")) as { Resources: Record<string, Resource> };
  for (const resource of Object.values(template.Resources)) for (const adapt of adaptations) adapt(resource);
  writeFileSync(path, JSON.stringify(template, null, 1));
}

/** Changes a template so that MiniStack can run it, if its functions have ES modules only. */
export function adaptToMiniStack(path: string): void {
  adaptTemplate(path, ADAPTATIONS);
}

/** Changes an assembly so that MiniStack can run it. */
export function adaptAssembly(assembly: string, stack: string): void {
  adaptToMiniStack(join(assembly, `${stack}.template.json`));
  if (cannot("ministack", "commonjs-bundles")) renameBundles(assembly);
}

/** Puts an `index.js` beside each `index.cjs`. */
function renameBundles(assembly: string): void {
  for (const name of readdirSync(assembly).filter((folder) => folder.startsWith("asset."))) {
    const bundle = join(assembly, name, "index.cjs");
    if (existsSync(bundle)) copyFileSync(bundle, join(assembly, name, "index.js"));
  }
}

/** On AWS the permission for one message covers the batch call. */
const BATCH_OF: Readonly<Record<string, string>> = {
  "sqs:SendMessage": "sqs:SendMessageBatch",
  "sqs:DeleteMessage": "sqs:DeleteMessageBatch",
  "sqs:ChangeMessageVisibility": "sqs:ChangeMessageVisibilityBatch",
};

/** For queues, the same ones. For batches of PartiQL every table, because MiniStack does not check their tables; AWS does. */
export const allowBatches = adaptRoles((statement) => {
  const actions = [statement.Action].flat();
  const batches = actions.flatMap((action) => BATCH_OF[action] ?? []);
  return [
    ...(batches.length > 0 ? [{ ...statement, Action: batches }] : []),
    ...(actions.some((action) => action.startsWith("dynamodb:PartiQL"))
      ? [{ ...statement, Action: "dynamodb:BatchExecuteStatement", Resource: "*" }]
      : []),
  ];
});

/** Extends permissions for a group's schedules to the group `default`, because MiniStack judges every schedule as one of that group. */
export const allowDefaultGroup = adaptRoles((statement) => {
  const resource = JSON.stringify(statement.Resource);
  const moved = resource.replaceAll(/:schedule\/[^/]+\/\*/g, ":schedule/default/*");
  return moved === resource ? [] : [{ ...statement, Resource: JSON.parse(moved) }];
});

/** Names secrets by their ARN. On AWS, `Ref` is the ARN of a secret, but MiniStack resolves `Ref` to the secret's name. */
export const nameSecretsByArn = adaptRoles((statement) => {
  const { Ref } = statement.Resource as { Ref?: string };
  if (Ref === undefined || ![statement.Action].flat().includes("secretsmanager:GetSecretValue")) return [];
  return [{ ...statement, Resource: { "Fn::GetAtt": [Ref, "Id"] } }];
});

/** Lists the characters that a generated secret must not have, because MiniStack ignores `ExcludePunctuation`. */
export const spellPunctuation: Adapt = ({ Properties }) => {
  const generated = Properties?.GenerateSecretString;
  if (generated?.ExcludePunctuation) generated.ExcludeCharacters = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";
};

/** Adds the statements that `beside` makes of each statement of a role. Policies of queues stay as they are. */
function adaptRoles(beside: (statement: Statement) => Statement[]): Adapt {
  return ({ Type, Properties }) => {
    const statements = Properties?.PolicyDocument?.Statement;
    if (Type === "AWS::IAM::Policy" && statements) statements.push(...statements.flatMap(beside));
  };
}

const ADAPTATIONS: readonly Adapt[] = [
  ...(cannot("ministack", "batch-permissions") ? [allowBatches] : []),
  ...(cannot("ministack", "schedule-groups") ? [allowDefaultGroup] : []),
  ...(cannot("ministack", "secret-arns") ? [nameSecretsByArn] : []),
  ...(cannot("ministack", "secret-characters") ? [spellPunctuation] : []),
];
