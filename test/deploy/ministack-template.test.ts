import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import {
  adaptTemplate,
  allowBatches,
  allowDefaultGroup,
  nameSecretsByArn,
  spellPunctuation,
} from "./ministack-template.ts";

let assembly: string;
beforeEach(() => {
  assembly = mkdtempSync(join(tmpdir(), "minutehand-template-"));
});
afterEach(() => rmSync(assembly, { recursive: true, force: true }));

const ALL = [allowBatches, allowDefaultGroup, nameSecretsByArn, spellPunctuation];

function adapted(Type: string, Properties: object) {
  const path = join(assembly, "S.template.json");
  writeFileSync(path, JSON.stringify({ Resources: { R: { Type, Properties } } }));
  adaptTemplate(path, ALL);
  return JSON.parse(readFileSync(path, "utf8")).Resources.R.Properties;
}

function statementsOf(Type: string, Statement: object[]): unknown {
  return adapted(Type, { PolicyDocument: { Statement } }).PolicyDocument.Statement;
}

it("a role that may send a message to a queue may also send batches, to that queue only", () => {
  const statement = { Effect: "Allow", Action: ["sqs:SendMessage", "sqs:ReceiveMessage"], Resource: "queue" };
  expect(statementsOf("AWS::IAM::Policy", [statement])).toEqual([
    statement,
    { Effect: "Allow", Action: ["sqs:SendMessageBatch"], Resource: "queue" },
  ]);
});

it("a role that may run a PartiQL statement may also run batches of statements", () => {
  const statement = {
    Effect: "Allow",
    Action: ["dynamodb:GetItem", "dynamodb:PartiQLUpdate"],
    Resource: "table",
  };
  expect(statementsOf("AWS::IAM::Policy", [statement])).toEqual([
    statement,
    { Effect: "Allow", Action: "dynamodb:BatchExecuteStatement", Resource: "*" },
  ]);
});

it("a role's permission for the schedules of a group also holds for those of the default group", () => {
  const arn = (group: string) => ({
    "Fn::Join": ["", ["arn:", { Ref: "AWS::Partition" }, `:schedule/${group}/*`]],
  });
  const statement = { Effect: "Allow", Action: "scheduler:GetSchedule", Resource: arn("shop-schedules") };
  expect(statementsOf("AWS::IAM::Policy", [statement])).toEqual([
    statement,
    { ...statement, Resource: arn("default") },
  ]);
});

it("a permission to read a secret also names the secret by its ARN", () => {
  const statement = { Effect: "Allow", Action: "secretsmanager:GetSecretValue", Resource: { Ref: "Secret" } };
  expect(statementsOf("AWS::IAM::Policy", [statement])).toEqual([
    statement,
    { ...statement, Resource: { "Fn::GetAtt": ["Secret", "Id"] } },
  ]);
});

it("nothing else is allowed, and policies of queues stay as they are", () => {
  const others = [
    { Effect: "Allow", Action: "logs:PutLogEvents", Resource: "log" },
    { Effect: "Allow", Action: "scheduler:ListSchedules", Resource: "*" },
    { Effect: "Allow", Action: "dynamodb:Query", Resource: { Ref: "Table" } },
  ];
  expect(statementsOf("AWS::IAM::Policy", others)).toEqual(others);
  const deny = [{ Effect: "Deny", Action: "sqs:*", Resource: "queue" }];
  expect(statementsOf("AWS::SQS::QueuePolicy", deny)).toEqual(deny);
});

it("a secret without punctuation gets the list of the characters to exclude", () => {
  const generated = { PasswordLength: 44, ExcludePunctuation: true };
  const { GenerateSecretString } = adapted("AWS::SecretsManager::Secret", {
    GenerateSecretString: generated,
  });
  const { ExcludeCharacters } = GenerateSecretString;
  const printable = Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i));
  const left = printable.filter((character) => !ExcludeCharacters.includes(character));
  expect(left.join("")).toMatch(/^ [0-9]{10}[A-Z]{26}[a-z]{26}$/);
  expect(GenerateSecretString).toEqual({ ...generated, ExcludeCharacters });
  const any = { GenerateSecretString: { PasswordLength: 44 } };
  expect(adapted("AWS::SecretsManager::Secret", any)).toEqual(any);
});
