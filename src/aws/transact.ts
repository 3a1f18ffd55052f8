import {
  TransactionCanceledException,
  type TransactWriteItem,
  TransactWriteItemsCommand,
} from "@aws-sdk/client-dynamodb";
import { drawToken } from "../core/job-id.ts";
import type { Deadline, Transacted, Write } from "../protocol/ports.ts";
import { itemIfAny, toAttributes, toKey } from "./attributes.ts";
import type { Connection } from "./connection.ts";
import { withDeadline } from "./deadlines.ts";
import { changeExpression, checkExpression } from "./expressions.ts";
import { backoffUntil, isUnknown, isUnknownCode } from "./unknown.ts";

/**
 * All tries have the same token: for ten minutes DynamoDB answers success to the repeat of an applied transaction ("TransactWriteItems"), so
 * a lost answer does not look like a conflict.
 */
export async function transactWrites(
  writes: readonly Write[],
  by: Deadline,
  connection: Connection,
): Promise<Transacted> {
  const { client, table, clock, random } = connection;
  const input = {
    TransactItems: writes.map((write) => transactItem(table, write)),
    ClientRequestToken: drawToken(random),
  };
  const backoff = backoffUntil(by, connection);
  for (;;) {
    try {
      await client.send(withDeadline(new TransactWriteItemsCommand(input), by, clock));
      return { done: true };
    } catch (thrown) {
      const refused = refusedBy(thrown);
      if (refused !== undefined) return { done: false, refused };
      if (!isUnknown(thrown) && !isConflictAlone(thrown)) throw thrown;
      await backoff(thrown);
    }
  }
}

function transactItem(table: string, write: Write): TransactWriteItem {
  const shared = { TableName: table, ReturnValuesOnConditionCheckFailure: "ALL_OLD" } as const;
  if ("insert" in write)
    return { Put: { ...shared, Item: toAttributes(write.insert), ...checkExpression("absent") } };
  if ("change" in write)
    return { Update: { ...shared, Key: toKey(write.change.key), ...changeExpression(write.change) } };
  if ("remove" in write)
    return {
      Delete: { ...shared, Key: toKey(write.remove.key), ...checkExpression(write.remove.expect) },
    };
  return {
    ConditionCheck: { ...shared, Key: toKey(write.check.key), ...checkExpression(write.check.expect) },
  };
}

/** `undefined`: no condition failed. Otherwise the reasons of the cancellation beside failed conditions do not matter. */
function refusedBy(thrown: unknown): Extract<Transacted, { done: false }>["refused"] | undefined {
  if (!(thrown instanceof TransactionCanceledException)) return undefined;
  const reasons = thrown.CancellationReasons ?? [];
  if (!reasons.some(({ Code }) => Code === "ConditionalCheckFailed")) return undefined;
  return reasons.map(({ Code, Item }) => (Code === "ConditionalCheckFailed" ? itemIfAny(Item) : false));
}

function isConflictAlone(thrown: unknown): boolean {
  if (!(thrown instanceof TransactionCanceledException)) return false;
  const codes = (thrown.CancellationReasons ?? []).map(({ Code }) => Code).filter((code) => code !== "None");
  return codes.length > 0 && codes.every(isUnknownCode);
}
