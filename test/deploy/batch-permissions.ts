import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

type Statement = { Action: string | string[]; Resource: unknown };
type Template = {
  Resources: Record<string, { Type: string; Properties?: { PolicyDocument?: { Statement: Statement[] } } }>;
};

/** On AWS the permission for one message covers the batch call. */
const BATCH_OF: Readonly<Record<string, string>> = {
  "sqs:SendMessage": "sqs:SendMessageBatch",
  "sqs:DeleteMessage": "sqs:DeleteMessageBatch",
  "sqs:ChangeMessageVisibility": "sqs:ChangeMessageVisibilityBatch",
};

/**
 * Writes into a synthesised stack's roles the names by which MiniStack asks for what they are granted. Each queue
 * call stays bound to its queues; MiniStack asks for statement batches, which AWS judges by the statements'
 * tables, for no resource in particular.
 */
export function addBatchPermissions(assembly: string, stack: string): void {
  const path = join(assembly, `${stack}.template.json`);
  const template = JSON.parse(readFileSync(path, "utf8")) as Template;
  for (const { Type, Properties } of Object.values(template.Resources)) {
    const statements = Properties?.PolicyDocument?.Statement;
    if (Type === "AWS::IAM::Policy" && statements) statements.push(...batchStatements(statements));
  }
  writeFileSync(path, JSON.stringify(template, null, 1));
}

function batchStatements(statements: readonly Statement[]): Statement[] {
  return statements.flatMap((statement) => {
    const actions = [statement.Action].flat();
    const batches = actions.flatMap((action) => BATCH_OF[action] ?? []);
    return [
      ...(batches.length > 0 ? [{ ...statement, Action: batches }] : []),
      ...(actions.some((action) => action.startsWith("dynamodb:PartiQL"))
        ? [{ ...statement, Action: "dynamodb:BatchExecuteStatement", Resource: "*" }]
        : []),
    ];
  });
}
