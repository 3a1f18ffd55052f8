import {
  type BatchExecuteStatementCommandInput,
  type CancellationReason,
  ConditionalCheckFailedException,
  type DeleteItemCommandInput,
  type PutItemCommandInput,
  TransactionCanceledException,
  type TransactWriteItem,
  type TransactWriteItemsCommandInput,
  type UpdateItemCommandInput,
} from "@aws-sdk/client-dynamodb";
import {
  conditionOf,
  type Row,
  statementOf,
  type Update,
  updateOf,
  updateStatementOf,
} from "./expressions.ts";
import type { Trouble } from "./service.ts";
import { admits, mustAdmit, mustFit, type Table, write } from "./table.ts";

/** How long DynamoDB remembers a transaction's token ("TransactWriteItems", API reference). ms. */
const TOKEN_LIFE = 600_000;

export function putItem(table: Table, { Item, ...input }: PutItemCommandInput): object {
  const row = Item as Row;
  mustAdmit(table, "write", row, row);
  if (!conditionOf(input.ConditionExpression, input)(table.stored.get(row))) throw refused(undefined);
  write(table, row, { ...row });
  return {};
}

export function updateItem(
  table: Table,
  { Key, UpdateExpression = "", ...input }: UpdateItemCommandInput,
): object {
  const before = table.stored.get(Key as Row);
  mustAdmit(table, "write", Key as Row, before);
  if (!conditionOf(input.ConditionExpression, input)(before)) throw refused(before);
  const update = updateOf(UpdateExpression, input);
  const after = updated(Key as Row, before, update);
  write(table, Key as Row, after);
  return { Attributes: answered(after, update, input.ReturnValues) };
}

export function deleteItem(table: Table, { Key, ...input }: DeleteItemCommandInput): object {
  const before = table.stored.get(Key as Row);
  mustAdmit(table, "write", Key as Row, before);
  if (input.ConditionExpression !== undefined && !conditionOf(input.ConditionExpression, input)(before))
    throw refused(before);
  if (before) write(table, Key as Row, undefined);
  return {};
}

export function batchExecuteStatement(
  table: Table,
  { Statements = [] }: BatchExecuteStatementCommandInput,
  trouble: Trouble,
): object {
  const asked = Statements.map(({ Statement = "", Parameters = [] }) =>
    readStatement(table, Statement, Parameters),
  );
  mustFit(
    "statements",
    asked.map(({ key }) => key),
  );
  const Responses = asked.map(({ key, apply }) => {
    const isAdmitted = admits(table, "write", key, key);
    const Code = isAdmitted
      ? (trouble.entryFails(key.sk?.S, key.pk?.S) ?? apply(table.stored.get(key)))
      : "ProvisionedThroughputExceeded";
    return Code === undefined ? {} : { Error: { Code, Message: "simulated" } };
  });
  return { Responses };
}

function readStatement(table: Table, text: string, parameters: NonNullable<unknown>) {
  const statement = statementOf(text);
  const given = parameters as Row[string][];
  if (statement.kind === "insert") {
    const row = Object.fromEntries(statement.names.map((name, i) => [name, given[i]])) as Row;
    const apply = (before: Row | undefined): string | undefined => {
      if (before) return "DuplicateItem";
      write(table, row, row);
      return undefined;
    };
    return { key: row, apply };
  }
  const { key, condition, set } = updateStatementOf(statement, given);
  const apply = (before: Row | undefined): string | undefined => {
    if (!condition(before)) return "ConditionalCheckFailed";
    write(table, key, updated(key, before, { set, remove: [], add: {} }));
    return undefined;
  };
  return { key, apply };
}

export function transactWriteItems(
  table: Table,
  { TransactItems = [], ClientRequestToken = "" }: TransactWriteItemsCommandInput,
): object {
  const { tokens, clock } = table;
  const known = tokens.get(ClientRequestToken);
  if (known !== undefined && clock() - known < TOKEN_LIFE) return {};
  const parts = TransactItems.map((item) => partOf(table, item));
  mustFit(
    "writes",
    parts.map(({ key }) => key),
  );
  const reasons = reasonsAgainst(table, parts);
  if (reasons.some(({ Code }) => Code !== "None")) throw cancelled(reasons);
  for (const { item, key } of parts) {
    if (item.Put) write(table, key, { ...(item.Put.Item as Row) });
    else if (item.Update) {
      const update = updateOf(item.Update.UpdateExpression ?? "", item.Update);
      write(table, key, updated(key, table.stored.get(key), update));
    } else if (item.Delete) write(table, key, undefined);
  }
  tokens.set(ClientRequestToken, clock());
  return {};
}

type Part = { item: TransactWriteItem; key: Row; holds: boolean };

function partOf({ stored }: Table, item: TransactWriteItem): Part {
  const part = item.Put ?? item.Update ?? item.Delete ?? item.ConditionCheck;
  if (!part) throw new Error(`no such transaction here: ${Object.keys(item)}`);
  const key = ("Item" in part ? part.Item : (part as { Key?: Row }).Key) as Row;
  return { item, key, holds: conditionOf(part.ConditionExpression, part)(stored.get(key)) };
}

/** For each part of a transaction, why it cannot be written. Its capacity counts before its conditions. */
function reasonsAgainst(table: Table, parts: readonly Part[]): CancellationReason[] {
  const stored = ({ key }: Part): Row | undefined => table.stored.get(key);
  // Each item counts twice, because DynamoDB first prepares the transaction and then commits it.
  const throttled = parts.map((part) => !admits(table, "write", part.key, stored(part), stored(part)));
  if (throttled.includes(true))
    return throttled.map((isOne) => ({ Code: isOne ? "ProvisionedThroughputExceeded" : "None" }));
  return parts.map((part) => {
    const row = stored(part);
    return part.holds
      ? { Code: "None" }
      : { Code: "ConditionalCheckFailed", ...(row && { Item: { ...row } }) };
  });
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
