import {
  DescribeContinuousBackupsCommand,
  DescribeTableCommand,
  DescribeTimeToLiveCommand,
  DynamoDBClient,
  ListTagsOfResourceCommand,
  type TableDescription,
  type Tag,
  TagResourceCommand,
  UpdateContinuousBackupsCommand,
  UpdateTableCommand,
  UpdateTimeToLiveCommand,
} from "@aws-sdk/client-dynamodb";
import { settings } from "./clients.ts";
import { ownTags } from "./tags.ts";
import { unavailable } from "./unknown.ts";

/** The attribute by which DynamoDB deletes items. */
const TTL_ATTRIBUTE = "expiresAt";

type Tags = Readonly<Record<string, string>>;

export type TableSettings = {
  /** DynamoDB's own, such as `ACTIVE`. */
  readonly status: string;
  /** Whether its keys are the strings `pk` and `sk`. */
  readonly hasKeys: boolean;
  /** The other regions of a global table. */
  readonly replicas: readonly string[];
  /** `undefined`: DynamoDB deletes no items. */
  readonly ttlAttribute: string | undefined;
  readonly isRecoverable: boolean;
  readonly isProtected: boolean;
  readonly tags: Tags;
  /** The ARN of the KMS key. `undefined` if DynamoDB uses a key of its own. */
  readonly key: string | undefined;
};

/** What `changeTable` turns on. */
export type TableChanges = {
  readonly ttl?: true;
  readonly recovery?: true;
  readonly tags?: Tags;
  readonly protection?: true;
};

/** Throws `unavailable`. */
export async function tableSettings(table: string): Promise<TableSettings> {
  const client = new DynamoDBClient(settings());
  const TableName = table;
  try {
    const { Table = {} } = await client.send(new DescribeTableCommand({ TableName }));
    const { TimeToLiveDescription: ttl } = await client.send(new DescribeTimeToLiveCommand({ TableName }));
    const { ContinuousBackupsDescription: backups } = await client.send(
      new DescribeContinuousBackupsCommand({ TableName }),
    );
    return {
      status: Table.TableStatus ?? "",
      hasKeys: keysOf(Table) === "pk S HASH, sk S RANGE",
      replicas: replicasOf(Table),
      ttlAttribute: /^ENABL/.test(ttl?.TimeToLiveStatus ?? "") ? ttl?.AttributeName : undefined,
      isRecoverable: backups?.PointInTimeRecoveryDescription?.PointInTimeRecoveryStatus === "ENABLED",
      isProtected: Table.DeletionProtectionEnabled === true,
      tags: await tagsOf(client, Table.TableArn),
      key: Table.SSEDescription?.KMSMasterKeyArn,
    };
  } catch (thrown) {
    throw unavailable(`DynamoDB did not say how the table ${table} is set`, thrown);
  }
}

/** May be called again if it fails in between. Throws `unavailable`. */
export async function changeTable(table: string, changes: TableChanges): Promise<void> {
  const client = new DynamoDBClient(settings());
  const TableName = table;
  try {
    if (changes.ttl) {
      const TimeToLiveSpecification = { Enabled: true, AttributeName: TTL_ATTRIBUTE };
      await client.send(new UpdateTimeToLiveCommand({ TableName, TimeToLiveSpecification }));
    }
    if (changes.recovery) {
      const PointInTimeRecoverySpecification = { PointInTimeRecoveryEnabled: true };
      await client.send(new UpdateContinuousBackupsCommand({ TableName, PointInTimeRecoverySpecification }));
    }
    if (changes.tags) {
      const { Table } = await client.send(new DescribeTableCommand({ TableName }));
      const Tags = Object.entries(changes.tags).map(([Key, Value]) => ({ Key, Value }));
      await client.send(new TagResourceCommand({ ResourceArn: Table?.TableArn, Tags }));
    }
    // Last, because DynamoDB may refuse other changes while it updates the table.
    if (changes.protection)
      await client.send(new UpdateTableCommand({ TableName, DeletionProtectionEnabled: true }));
  } catch (thrown) {
    throw unavailable(`DynamoDB did not change the table ${table}`, thrown);
  }
}

function keysOf({ KeySchema = [], AttributeDefinitions = [] }: TableDescription): string {
  const typeOf = (name?: string) =>
    AttributeDefinitions.find(({ AttributeName }) => AttributeName === name)?.AttributeType;
  return KeySchema.map((key) => `${key.AttributeName} ${typeOf(key.AttributeName)} ${key.KeyType}`).join(
    ", ",
  );
}

/** DynamoDB may name the table's own region too. */
function replicasOf({ TableArn = "", Replicas = [], GlobalTableVersion }: TableDescription): string[] {
  const [, , , own] = TableArn.split(":");
  const others = Replicas.flatMap(({ RegionName }) => RegionName ?? []).filter((region) => region !== own);
  // Only DescribeGlobalTable names the regions of a global table of this version.
  const isOfOldVersion = others.length === 0 && GlobalTableVersion === "2017.11.29";
  return isOfOldVersion ? ["other regions"] : others;
}

async function tagsOf(client: DynamoDBClient, ResourceArn: string | undefined): Promise<Tags> {
  const tags: Tag[] = [];
  let NextToken: string | undefined;
  do {
    const page = await client.send(new ListTagsOfResourceCommand({ ResourceArn, NextToken }));
    tags.push(...(page.Tags ?? []));
    NextToken = page.NextToken;
  } while (NextToken !== undefined);
  return ownTags(tags);
}
