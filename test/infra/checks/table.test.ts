import { App, Stack } from "aws-cdk-lib";
import { Annotations, Match } from "aws-cdk-lib/assertions";
import { AttributeType, type ITable, Table, TableV2 } from "aws-cdk-lib/aws-dynamodb";
import { Key } from "aws-cdk-lib/aws-kms";
import { describe, expect, it } from "vitest";
import { DelayQueue } from "../../../infra/delay-queue.ts";
import type { DelayQueueProps } from "../../../infra/props.ts";
import { templateOf } from "../shop-stack.ts";

const KEYS = {
  partitionKey: { name: "pk", type: AttributeType.STRING },
  sortKey: { name: "sk", type: AttributeType.STRING },
};
const TABLE_NAME = "Shop-JobsPoolTable-1ABC";

/** With `exactOptionalPropertyTypes`, the CDK's own tables are no `ITable`. */
type Made = Table | TableV2 | ITable;

function stackIn(region: string): Stack {
  return new Stack(new App(), "Shop", { env: { region, account: "123456789012" } });
}

/** The error of synth, or `undefined`. */
function errorWith(make: (stack: Stack) => Made, change: (table: Made) => void = () => {}) {
  const stack = stackIn("eu-west-1");
  const table = make(stack);
  new DelayQueue(stack, "Jobs", { topics: { work: { consumer: "pull" } }, table: table as ITable });
  change(table);
  try {
    templateOf(stack);
    return undefined;
  } catch (error) {
    return String(error);
  }
}

describe("a global table is refused with the reason", () => {
  const refusal = (path: string, regions: string) =>
    `[Shop/Jobs] the table must be in one region, is "${path}, with replicas in ${regions}"; allowed: a table without replicas, ` +
    'because the functions of two regions would run the same job. "When a region fails" in docs/guides/day-two.md says what to do instead';

  it.each<[string, (stack: Stack) => Made, string]>([
    [
      "a Table with replicationRegions",
      (stack) => new Table(stack, "Pool", { ...KEYS, replicationRegions: ["us-east-1", "us-west-2"] }),
      "us-east-1 and us-west-2",
    ],
    [
      "a TableV2 with replicas",
      (stack) => new TableV2(stack, "Pool", { ...KEYS, replicas: [{ region: "us-east-1" }] }),
      "us-east-1",
    ],
  ])("%s", (_, make, regions) => {
    expect(errorWith(make)).toContain(refusal("Shop/Pool", regions));
  });

  it("also if the replica is added after the queue was made", () => {
    const make = (stack: Stack) => new TableV2(stack, "Pool", KEYS);
    const change = (table: Made) => (table as TableV2).addReplica({ region: "us-east-1" });
    expect(errorWith(make, change)).toContain(refusal("Shop/Pool", "us-east-1"));
  });

  it("also if the queue uses the replica of another region", () => {
    const app = new App();
    const env = (region: string) => ({ env: { region, account: "123456789012" } });
    const data = new Stack(app, "Data", env("us-east-1"));
    const stack = new Stack(app, "Shop", env("eu-west-1"));
    const replicas = [{ region: "eu-west-1" }];
    const table = new TableV2(data, "Pool", { ...KEYS, tableName: "jobs", replicas });
    const topics = { work: { consumer: "pull" } } as const;
    new DelayQueue(stack, "Jobs", { topics, table: table.replica("eu-west-1") });
    expect(() => templateOf(stack)).toThrow(refusal("Data/Pool", "eu-west-1"));
  });

  it.each<[string, (stack: Stack) => Made]>([
    ["a Table without replicas", (stack) => new Table(stack, "Pool", KEYS)],
    ["a TableV2 without replicas", (stack) => new TableV2(stack, "Pool", KEYS)],
    ["an imported table, of which nothing is known", (stack) => Table.fromTableName(stack, "Pool", "jobs")],
  ])("but not %s", (_, make) => {
    expect(errorWith(make)).toBeUndefined();
  });
});

describe("a table without a key, in a queue with encryptionKey", () => {
  const warned = (make: (stack: Stack, key: Key) => Partial<DelayQueueProps>) => {
    const stack = stackIn("eu-west-1");
    const props = make(stack, new Key(stack, "Key"));
    new DelayQueue(stack, "Jobs", { topics: { work: { consumer: "pull" } }, ...props });
    return Annotations.fromStack(stack).findWarning("*", Match.stringLikeRegexp("table-key")).length;
  };

  it("is warned of, because the functions would get no right to its key", () => {
    const stack = stackIn("eu-west-1");
    const table = Table.fromTableName(stack, "Restored", TABLE_NAME);
    const encryptionKey = new Key(stack, "Key");
    new DelayQueue(stack, "Jobs", { topics: { work: { consumer: "pull" } }, table, encryptionKey });
    Annotations.fromStack(stack).hasWarning(
      "/Shop/Jobs",
      Match.stringLikeRegexp("Table\\.fromTableAttributes\\(this, id, \\{ tableName, encryptionKey \\}\\)"),
    );
    expect(JSON.stringify(templateOf(stack))).not.toContain("kms:GenerateDataKeyWithoutPlaintext");
  });

  it.each<[string, (stack: Stack, key: Key) => Partial<DelayQueueProps>]>([
    [
      "the table is imported with its key",
      (stack, encryptionKey) => {
        const attributes = { tableName: TABLE_NAME, encryptionKey };
        return { encryptionKey, table: Table.fromTableAttributes(stack, "Restored", attributes) };
      },
    ],
    [
      "the table is a new one of the app, whose key is known",
      (stack, encryptionKey) => ({ encryptionKey, table: new Table(stack, "Pool", KEYS) as ITable }),
    ],
    ["the queue makes its table", (_, encryptionKey) => ({ encryptionKey })],
    ["the queue has no key", (stack) => ({ table: Table.fromTableName(stack, "Restored", TABLE_NAME) })],
  ])("is not warned of if %s", (_, make) => {
    expect(warned(make)).toBe(0);
  });
});
