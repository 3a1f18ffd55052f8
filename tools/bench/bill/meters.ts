import { readUnits, writeUnits } from "../../../local/services/dynamodb/units.ts";
import type { Item as StoredItem } from "../../../local/services/dynamodb/values.ts";
import { sizeOfItem } from "../../../local/services/dynamodb/values.ts";
import { type Dynamo, simulatedDynamo } from "../../../test/sim/services/dynamo.ts";
import type { Row } from "../../../test/sim/services/expressions.ts";
import type { Service } from "../../../test/sim/services/service.ts";
import { MONTH_HOURS } from "../prices.ts";
import { ASSUMED } from "./assumed.ts";
import type { Usage } from "./usage.ts";

/** SQS charges each 64 KiB of a request as one request ("Amazon SQS pricing"). */
const REQUEST_BYTES = 64 * 1024;
const MONTH = MONTH_HOURS * 3_600_000;

export type Stored = Pick<Usage, "storedGigabyteMonths" | "bodyStoredMonths">;

/** DynamoDB with one table, which counts the units of each call. */
export function meteredDynamo(clock: () => number, createdAt: number, usage: Usage): Dynamo {
  // DynamoDB first prepares a transaction and then commits it, and charges both.
  let factor = 1;
  const dynamo = simulatedDynamo({
    clock,
    createdAt,
    pageItems: Number.POSITIVE_INFINITY,
    onWrite: (before, after) => {
      usage.writeUnits += factor * writeUnits(asStored(before), asStored(after));
      if (hasBody(before) || hasBody(after)) usage.bodyWrites += factor;
    },
  });
  return {
    ...dynamo,
    perform(operation, input, trouble) {
      factor = operation === "TransactWriteItems" ? 2 : 1;
      try {
        const output = dynamo.perform(operation, input, trouble);
        const found = rowsIn(operation, output);
        usage.readUnits += readsOf(operation, input, found);
        usage.bodyReads += found.filter(hasBody).length;
        // A refused statement is charged as a write. Here all refused items are smaller than 1 KB.
        usage.writeUnits += refusedStatements(operation, output) + checksOf(operation, input);
        return output;
      } catch (refused) {
        usage.writeUnits += writesRefusedBy(operation, input);
        throw refused;
      }
    },
  };
}

function rowsIn(operation: string, output: unknown): Row[] {
  const { Item, Items, Responses } = output as {
    Item?: Row;
    Items?: Row[];
    Responses?: Record<string, Row[]>;
  };
  if (operation === "GetItem") return Item ? [Item] : [];
  if (operation === "Query") return Items ?? [];
  return operation === "BatchGetItem" ? Object.values(Responses ?? {}).flat() : [];
}

function readsOf(operation: string, input: object, found: readonly Row[]): number {
  if (["GetItem", "Query"].includes(operation)) return readUnits(found.map(asStored), true);
  if (operation !== "BatchGetItem") return 0;
  const { RequestItems } = input as { RequestItems: Record<string, { Keys: unknown[] }> };
  const asked = Object.values(RequestItems).reduce((sum, { Keys }) => sum + Keys.length, 0);
  // An item that does not exist costs a unit too.
  return found.reduce((sum, row) => sum + readUnits([asStored(row)], true), asked - found.length);
}

function refusedStatements(operation: string, output: unknown): number {
  if (operation !== "BatchExecuteStatement") return 0;
  return (output as { Responses: { Error?: object }[] }).Responses.filter((answer) => answer.Error).length;
}

/** A check of a transaction is charged as a write of the transaction. */
function checksOf(operation: string, input: object): number {
  if (operation !== "TransactWriteItems") return 0;
  const { TransactItems } = input as { TransactItems: { ConditionCheck?: object }[] };
  return 2 * TransactItems.filter(({ ConditionCheck }) => ConditionCheck).length;
}

function writesRefusedBy(operation: string, input: object): number {
  if (operation === "TransactWriteItems")
    return 2 * (input as { TransactItems: unknown[] }).TransactItems.length;
  return ["PutItem", "UpdateItem", "DeleteItem"].includes(operation) ? 1 : 0;
}

export function meteredSqs(sqs: Service, usage: Usage): Service {
  return {
    perform(operation, input, trouble) {
      const output = sqs.perform(operation, input, trouble);
      const { Entries = [] } = input as { Entries?: { MessageBody?: string }[] };
      const { Messages = [] } = output as { Messages?: { Body: string }[] };
      const texts = [
        ...Entries.map(({ MessageBody = "" }) => MessageBody),
        ...Messages.map(({ Body }) => Body),
      ];
      const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
      usage.sqsRequests += Math.max(Math.ceil(bytes / REQUEST_BYTES), 1);
      return output;
    },
  };
}

/** The storage of all items from now until their TTL. Items without a TTL are not counted. `now`: ms. */
export function storageOf(dynamo: Dynamo, now: number): Stored {
  let [storedGigabyteMonths, bodyStoredMonths] = [0, 0];
  for (const row of dynamo.rows()) {
    const months = Math.max(Number(row.expiresAt?.N ?? 0) * 1000 - now, 0) / MONTH;
    storedGigabyteMonths += ((sizeOfItem(row as StoredItem) + ASSUMED.bytesPerStoredItem) / 1e9) * months;
    if (hasBody(row)) bodyStoredMonths += months;
  }
  return { storedGigabyteMonths, bodyStoredMonths };
}

function hasBody(row: Row | undefined): boolean {
  return row?.body !== undefined;
}

function asStored(row: Row | undefined): StoredItem | undefined {
  return row as StoredItem | undefined;
}
