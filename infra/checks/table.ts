import { CfnResource, Resource, Stack } from "aws-cdk-lib";
import { CfnGlobalTable, TableV2 } from "aws-cdk-lib/aws-dynamodb";
import type { IKey } from "aws-cdk-lib/aws-kms";
import type { IConstruct } from "constructs";
import { brokenIn } from "../../src/core/check.ts";
import type { PoolTable } from "../job-pool.ts";
import { shown } from "./check.ts";

/**
 * Refuses a global table: its replicas compare a conditional write only with their own items ("How DynamoDB global tables work", DynamoDB
 * Developer Guide), so two regions could claim one job. The app does not know the replicas of an imported table.
 */
export function tableErrors(table: PoolTable): string[] {
  // `TableV2.replica` answers an imported table within the declared one.
  const declared: IConstruct = table.node.scope instanceof TableV2 ? table.node.scope : table;
  const replicas = otherRegions(declared).join(" and ");
  const check = {
    holds: replicas === "",
    rule: "the table must be in one region",
    actual: `${declared.node.path}, with replicas in ${replicas}`,
    allowed:
      "a table without replicas, because the functions of two regions would run the same job. " +
      '"When a region fails" in docs/guides/day-two.md says what to do instead',
  };
  return brokenIn([check], shown);
}

/** The regions of the replicas that the app declares, without the table's own. */
function otherRegions(table: IConstruct): string[] {
  const stack = Stack.of(table);
  const resource = table.node.defaultChild;
  if (resource instanceof CfnGlobalTable) {
    const replicas: { readonly region: unknown }[] = stack.resolve(resource.replicas);
    // In a stack for any region, the own region is a reference.
    return replicas.flatMap(({ region }) =>
      typeof region === "string" && region !== stack.region ? region : [],
    );
  }
  // A `Table` makes each replica by a custom resource in a construct named `Replica<region>`.
  const isReplica = (one: unknown) =>
    one instanceof CfnResource && one.cfnResourceType === "Custom::DynamoDBReplica";
  return table.node.children
    .filter(({ node }) => isReplica(node.defaultChild))
    .map(({ node }) => node.id.replace("Replica", ""));
}

/** A restored table usually has the key of the table that was backed up. An imported table without a key here gives its users no right to one. */
export function tableKeyWarning(table: PoolTable, encryptionKey: IKey | undefined): string | undefined {
  const isKnown = Resource.isOwnedResource(table) || table.encryptionKey !== undefined;
  if (encryptionKey === undefined || isKnown) return undefined;
  return (
    "the queue has an encryptionKey, and its table is imported without one: if a key of yours encrypts the table, as it does after a " +
    "restore, no function may read it. Import the table with its key: Table.fromTableAttributes(this, id, { tableName, encryptionKey })"
  );
}
