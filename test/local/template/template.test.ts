import { expect, test } from "vitest";
import { holds, type Json, resolve, type Scope } from "../../../local/template/template.ts";

const scope: Scope = {
  ref: (name) => ({ Queue: "http://here/0/queue", "AWS::Region": "us-east-1" })[name],
  attribute: (id, attribute) => `${id}/${attribute}`,
  imported: (name) => `of ${name}`,
  conditions: { IsHere: { "Fn::Equals": [{ Ref: "AWS::Region" }, "us-east-1"] } },
};

test.each<[string, Json, Json]>([
  ["a plain value stays", { a: [1, true, null] }, { a: [1, true, null] }],
  ["Ref names a resource", { Ref: "Queue" }, "http://here/0/queue"],
  ["Fn::GetAtt takes a list", { "Fn::GetAtt": ["Queue", "Arn"] }, "Queue/Arn"],
  ["Fn::GetAtt takes a dotted name", { "Fn::GetAtt": "Queue.Arn" }, "Queue/Arn"],
  [
    "Fn::Join joins what its items stand for",
    { "Fn::Join": ["-", ["a", { Ref: "AWS::Region" }]] },
    "a-us-east-1",
  ],
  [
    "Fn::Select and Fn::Split take a value apart",
    { "Fn::Select": [4, { "Fn::Split": ["/", { Ref: "Queue" }] }] },
    "queue",
  ],
  [
    "Fn::Sub fills in names and attributes",
    { "Fn::Sub": `\${AWS::Region} \${Queue.Arn}` },
    "us-east-1 Queue/Arn",
  ],
  ["Fn::Sub has variables of its own", { "Fn::Sub": [`\${a}`, { a: { Ref: "AWS::Region" } }] }, "us-east-1"],
  ["Fn::Sub leaves literals", { "Fn::Sub": `\${!a}` }, `\${a}`],
  [
    "Fn::ImportValue takes what another stack exports",
    { "Fn::ImportValue": { "Fn::Sub": `\${AWS::Region}:Key` } },
    "of us-east-1:Key",
  ],
  ["Fn::If follows its condition", { "Fn::If": ["IsHere", "yes", "no"] }, "yes"],
  ["AWS::NoValue leaves a property out", { a: 1, b: { Ref: "AWS::NoValue" } }, { a: 1 }],
  ["AWS::NoValue leaves an element out", [{ Ref: "AWS::NoValue" }, 2], [2]],
])("%s", (_, value, expected) => {
  expect(resolve(value, scope)).toEqual(expected);
});

test("conditions combine", () => {
  expect(holds({ "Fn::Not": [{ Condition: "IsHere" }] }, scope)).toBe(false);
  expect(holds({ "Fn::And": [{ Condition: "IsHere" }, { "Fn::Equals": ["a", "b"] }] }, scope)).toBe(false);
  expect(holds({ "Fn::Or": [{ Condition: "IsHere" }, { "Fn::Equals": ["a", "b"] }] }, scope)).toBe(true);
});

test("the error names an unknown function or reference", () => {
  expect(() => resolve({ "Fn::Base64": "x" }, scope)).toThrow(/Fn::Base64/);
  expect(() => resolve({ Ref: "Nobody" }, scope)).toThrow(/Nobody/);
});
