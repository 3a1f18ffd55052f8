import {
  type BatchExecuteStatementCommandInput,
  type BatchGetItemCommandInput,
  type CancellationReason,
  ConditionalCheckFailedException,
  type DeleteItemCommandInput,
  type GetItemCommandInput,
  type PutItemCommandInput,
  type QueryCommandInput,
  TransactionCanceledException,
  type TransactWriteItemsCommandInput,
  type UpdateItemCommandInput,
} from "@aws-sdk/client-dynamodb";
import type { Capacity } from "./capacity.ts";
import {
  conditionOf,
  type Row,
  statementOf,
  type Update,
  updateOf,
  updateStatementOf,
} from "./expressions.ts";
import { problem, type Service, serviceOf, type Trouble } from "./service.ts";
import { type Stored, storedTable } from "./stored-table.ts";

/** How long DynamoDB remembers a transaction's token ("TransactWriteItems", API reference). ms. */
const TOKEN_LIFE = 600_000;
const MOST = { statements: 25, keys: 100, writes: 100 };

/** DynamoDB with one table. A request that it does not simulate is an error. */
export type Dynamo = Service & {
  rows(): Row[];
  row(pk: string, sk: string): Row | undefined;
  /** `plant` adds an item and `uproot` removes items, both without a call of `onWrite`. */
  plant(row: Row): void;
  uproot(which: (row: Row) => boolean): void;
  /** Deletes all items that TTL has deleted by `time`, ms. `lateOf`: how many ms after its `expiresAt` an item is deleted. */
  expire(time: number, lateOf?: (pk: string, sk: string) => number): void;
};

export function simulatedDynamo(settings: {
  clock: () => number;
  createdAt: number;
  /** The most items of a page, in place of DynamoDB's limit of 1 MB. */
  pageItems: number;
  /** If absent, the capacity is unlimited. */
  capacity?: Capacity | undefined;
  onWrite: (before: Row | undefined, after: Row | undefined) => void;
}): Dynamo {
  const { clock, createdAt, pageItems, capacity, onWrite } = settings;
  const table: Stored = storedTable();
  const tokens = new Map<string, number>();

  const write = (key: Row, after: Row | undefined): void => {
    const before = table.get(key);
    if (after) table.put(after);
    else table.drop(key);
    onWrite(before, after);
  };

  const admits = (what: "read" | "write", { pk }: Row, ...rows: (Row | undefined)[]): boolean =>
    !capacity ||
    capacity.admits(
      what,
      pk?.S ?? "",
      rows.reduce((sum, row) => sum + bytesOf(row), 0),
    );
  const mustAdmit = (...asked: Parameters<typeof admits>): void => {
    if (!admits(...asked)) throw problem("ProvisionedThroughputExceededException", "simulated");
  };

  const operations: Record<string, (input: never, trouble: Trouble) => unknown> = {
    DescribeTable: () => ({ Table: { CreationDateTime: new Date(createdAt) } }),

    GetItem({ Key, ConsistentRead }: GetItemCommandInput) {
      mustBeConsistent(ConsistentRead);
      const row = table.get(Key as Row);
      mustAdmit("read", Key as Row, row);
      return row ? { Item: { ...row } } : {};
    },

    BatchGetItem({ RequestItems = {} }: BatchGetItemCommandInput, trouble) {
      const [[name, { Keys = [], ConsistentRead }]] = Object.entries(RequestItems) as [
        [string, NonNullable<BatchGetItemCommandInput["RequestItems"]>[string]],
      ];
      mustBeConsistent(ConsistentRead);
      mustFit("keys", Keys as Row[]);
      const refused = new Set((Keys as Row[]).filter((key) => !admits("read", key, table.get(key))));
      if (refused.size === Keys.length) throw problem("ProvisionedThroughputExceededException", "simulated");
      const unprocessed = (Keys as Row[]).filter(
        (key) => refused.has(key) || trouble.entryFails(key.sk?.S, key.pk?.S) !== undefined,
      );
      const read = (Keys as Row[]).filter((key) => !unprocessed.includes(key));
      const found = read.map((key) => table.get(key)).filter((row) => row !== undefined);
      return {
        Responses: { [name]: found.map((row): Row => ({ ...row })) },
        UnprocessedKeys: unprocessed.length > 0 ? { [name]: { Keys: unprocessed } } : {},
      };
    },

    Query(input: QueryCommandInput) {
      const { KeyConditionExpression, ExpressionAttributeValues: values = {}, Limit = 1000 } = input;
      mustBeConsistent(input.ConsistentRead);
      if (KeyConditionExpression !== "pk = :pk AND sk BETWEEN :from AND :before")
        throw new Error(`no such query here: ${KeyConditionExpression}`);
      const text = (name: string) => values[name]?.S ?? "";
      const { rows, more } = table.between(
        text(":pk"),
        text(":from"),
        text(":before"),
        Math.min(Limit, pageItems),
      );
      const last = rows.at(-1);
      mustAdmit("read", { pk: { S: text(":pk") } }, ...rows);
      return {
        Items: rows.map((row) => ({ ...row })),
        ...(more && last ? { LastEvaluatedKey: { pk: last.pk, sk: last.sk } } : {}),
      };
    },

    PutItem({ Item, ...input }: PutItemCommandInput) {
      const row = Item as Row;
      mustAdmit("write", row, row);
      if (!conditionOf(input.ConditionExpression, input)(table.get(row))) throw refused(undefined);
      write(row, { ...row });
      return {};
    },

    UpdateItem({ Key, UpdateExpression = "", ...input }: UpdateItemCommandInput) {
      const before = table.get(Key as Row);
      mustAdmit("write", Key as Row, before);
      if (!conditionOf(input.ConditionExpression, input)(before)) throw refused(before);
      const update = updateOf(UpdateExpression, input);
      const after = updated(Key as Row, before, update);
      write(Key as Row, after);
      return { Attributes: answered(after, update, input.ReturnValues) };
    },

    DeleteItem({ Key, ...input }: DeleteItemCommandInput) {
      const before = table.get(Key as Row);
      mustAdmit("write", Key as Row, before);
      if (input.ConditionExpression !== undefined && !conditionOf(input.ConditionExpression, input)(before))
        throw refused(before);
      if (before) write(Key as Row, undefined);
      return {};
    },

    BatchExecuteStatement({ Statements = [] }: BatchExecuteStatementCommandInput, trouble) {
      const asked = Statements.map(({ Statement = "", Parameters = [] }) =>
        readStatement(Statement, Parameters),
      );
      mustFit(
        "statements",
        asked.map(({ key }) => key),
      );
      const Responses = asked.map(({ key, apply }) => {
        const isAdmitted = admits("write", key, key);
        const Code = isAdmitted
          ? (trouble.entryFails(key.sk?.S, key.pk?.S) ?? apply(table.get(key)))
          : "ProvisionedThroughputExceeded";
        return Code === undefined ? {} : { Error: { Code, Message: "simulated" } };
      });
      return { Responses };
    },

    TransactWriteItems({ TransactItems = [], ClientRequestToken = "" }: TransactWriteItemsCommandInput) {
      const known = tokens.get(ClientRequestToken);
      if (known !== undefined && clock() - known < TOKEN_LIFE) return {};
      const parts = TransactItems.map((item) => {
        const part = item.Put ?? item.Update ?? item.ConditionCheck;
        if (!part) throw new Error(`no such transaction here: ${Object.keys(item)}`);
        const key = ("Item" in part ? part.Item : (part as { Key?: Row }).Key) as Row;
        return { item, key, holds: conditionOf(part.ConditionExpression, part)(table.get(key)) };
      });
      mustFit(
        "writes",
        parts.map(({ key }) => key),
      );
      // Each item counts twice, because DynamoDB first prepares the transaction and then commits it.
      const throttled = parts.map(({ key }) => !admits("write", key, table.get(key), table.get(key)));
      if (throttled.includes(true))
        throw cancelled(
          throttled.map((isOne) => ({ Code: isOne ? "ProvisionedThroughputExceeded" : "None" })),
        );
      if (parts.some(({ holds }) => !holds)) {
        const CancellationReasons = parts.map(({ key, holds }) => {
          const row = table.get(key);
          return holds
            ? { Code: "None" }
            : { Code: "ConditionalCheckFailed", ...(row && { Item: { ...row } }) };
        });
        throw cancelled(CancellationReasons);
      }
      for (const { item, key } of parts) {
        if (item.Put) write(key, { ...(item.Put.Item as Row) });
        else if (item.Update)
          write(key, updated(key, table.get(key), updateOf(item.Update.UpdateExpression ?? "", item.Update)));
      }
      tokens.set(ClientRequestToken, clock());
      return {};
    },
  };

  const readStatement = (text: string, parameters: NonNullable<unknown>) => {
    const statement = statementOf(text);
    const given = parameters as Row[string][];
    if (statement.kind === "insert") {
      const row = Object.fromEntries(statement.names.map((name, i) => [name, given[i]])) as Row;
      const apply = (before: Row | undefined): string | undefined => {
        if (before) return "DuplicateItem";
        write(row, row);
        return undefined;
      };
      return { key: row, apply };
    }
    const { key, condition, set } = updateStatementOf(statement, given);
    const apply = (before: Row | undefined): string | undefined => {
      if (!condition(before)) return "ConditionalCheckFailed";
      write(key, updated(key, before, { set, remove: [], add: {} }));
      return undefined;
    };
    return { key, apply };
  };

  return {
    ...serviceOf(operations),
    rows: () => table.all(),
    plant: (row) => table.put(row),
    uproot: (which) => table.all().filter(which).forEach(table.drop),
    row: (pk, sk) => table.get({ pk: { S: pk }, sk: { S: sk } }),
    expire(time, lateOf = () => 0) {
      for (const row of table.all()) {
        const end = Number(row.expiresAt?.N ?? Number.POSITIVE_INFINITY) * 1000;
        if (end < time && end + lateOf(row.pk?.S ?? "", row.sk?.S ?? "") < time) write(row, undefined);
      }
    },
  };
}

const REFUSED = { httpStatusCode: 400 };

function refused(row: Row | undefined): ConditionalCheckFailedException {
  return new ConditionalCheckFailedException({
    message: "The conditional request failed",
    $metadata: REFUSED,
    ...(row && { Item: { ...row } }),
  });
}

function cancelled(CancellationReasons: CancellationReason[]): TransactionCanceledException {
  return new TransactionCanceledException({ message: "cancelled", $metadata: REFUSED, CancellationReasons });
}

/** The size of an item, about as DynamoDB counts it: names and values. */
function bytesOf(row: Row | undefined): number {
  return row === undefined ? 0 : JSON.stringify(row).length;
}

function updated({ pk, sk }: Row, before: Row | undefined, { set, remove, add }: Update): Row {
  const after = { ...before, ...set, pk, sk } as Row;
  for (const name of remove) delete after[name];
  for (const [name, { N }] of Object.entries(add))
    after[name] = { N: String(Number(after[name]?.N ?? 0) + Number(N)) };
  return after;
}

function answered(after: Row, { set, add }: Update, asked: string | undefined): Row {
  if (asked === "ALL_NEW") return { ...after };
  if (asked !== "UPDATED_NEW") throw new Error(`no such answer of an update here: ${asked}`);
  const names = new Set(Object.keys({ ...set, ...add }));
  return Object.fromEntries(Object.entries(after).filter(([name]) => names.has(name)));
}

function mustBeConsistent(asked: boolean | undefined): void {
  if (!asked) throw new Error("a read that is not strongly consistent may answer anything");
}

function mustFit(what: keyof typeof MOST, keys: readonly Row[]): void {
  const distinct = new Set(keys.map(({ pk, sk }) => `${pk?.S} ${sk?.S}`));
  if (keys.length < 1 || keys.length > MOST[what] || distinct.size < keys.length)
    throw problem("ValidationException", `1 to ${MOST[what]} different ${what}, got ${keys.length}`);
}
