import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { addBatchPermissions } from "./batch-permissions.ts";

let assembly: string;
beforeEach(() => {
  assembly = mkdtempSync(join(tmpdir(), "minutehand-template-"));
});
afterEach(() => rmSync(assembly, { recursive: true, force: true }));

/** What becomes of the statements of a resource of this type. */
function adapted(Type: string, Statement: object[]): unknown {
  const path = join(assembly, "S.template.json");
  writeFileSync(
    path,
    JSON.stringify({ Resources: { R: { Type, Properties: { PolicyDocument: { Statement } } } } }),
  );
  addBatchPermissions(assembly, "S");
  return JSON.parse(readFileSync(path, "utf8")).Resources.R.Properties.PolicyDocument.Statement;
}

it("a queue's batch calls are allowed where its single ones are, and on that queue only", () => {
  const statement = { Effect: "Allow", Action: ["sqs:SendMessage", "sqs:ReceiveMessage"], Resource: "queue" };
  expect(adapted("AWS::IAM::Policy", [statement])).toEqual([
    statement,
    { Effect: "Allow", Action: ["sqs:SendMessageBatch"], Resource: "queue" },
  ]);
});

it("statement batches are allowed where a statement is", () => {
  const statement = {
    Effect: "Allow",
    Action: ["dynamodb:GetItem", "dynamodb:PartiQLUpdate"],
    Resource: "table",
  };
  expect(adapted("AWS::IAM::Policy", [statement])).toEqual([
    statement,
    { Effect: "Allow", Action: "dynamodb:BatchExecuteStatement", Resource: "*" },
  ]);
});

it("nothing else is allowed, and policies of queues stay as they are", () => {
  const logs = [{ Effect: "Allow", Action: "logs:PutLogEvents", Resource: "log" }];
  expect(adapted("AWS::IAM::Policy", logs)).toEqual(logs);
  const deny = [{ Effect: "Deny", Action: "sqs:*", Resource: "queue" }];
  expect(adapted("AWS::SQS::QueuePolicy", deny)).toEqual(deny);
});
