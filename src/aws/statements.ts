import {
  BatchExecuteStatementCommand,
  type BatchStatementRequest,
  type BatchStatementResponse,
} from "@aws-sdk/client-dynamodb";
import { ITEM_VERSION, type Item } from "../core/items.ts";
import { chunksOf, inParallel } from "../general/batches.ts";
import type { Change, Deadline } from "../protocol/ports.ts";
import { toAttribute, toAttributes } from "./attributes.ts";
import type { Connection } from "./connection.ts";
import { withDeadline } from "./deadlines.ts";
import { backoffUntil, isUnknown, isUnknownCode } from "./unknown.ts";

/** `refused`: its condition did not hold. */
export type Decided = "applied" | "refused";

/** How many batches are in flight at once. */
const WIDTH = 8;
/** `DuplicateItem`: of an INSERT. */
const REFUSED = new Set(["ConditionalCheckFailed", "DuplicateItem"]);

export function insertStatement(table: string, item: Item): BatchStatementRequest {
  const attributes = toAttributes(item);
  const names = Object.keys(attributes).map((name) => `'${name}': ?`);
  return {
    Statement: `INSERT INTO "${table}" VALUE {${names.join(", ")}}`,
    Parameters: Object.values(attributes),
  };
}

/** Quoted, because some names are reserved words of PartiQL (`state`, `token`). */
export function updateStatement(table: string, { key, expect, set }: Change): BatchStatementRequest {
  const sets = Object.keys(set).map((name) => `"${name}" = ?`);
  const conditions = ['"pk" = ?', '"sk" = ?', '"v" = ?'];
  const parameters = [...Object.values(set), key.pk, key.sk, ITEM_VERSION].map(toAttribute);
  for (const [name, value] of Object.entries(expect)) {
    conditions.push(value === undefined ? `"${name}" IS MISSING` : `"${name}" = ?`);
    if (value !== undefined) parameters.push(toAttribute(value));
  }
  return {
    Statement: `UPDATE "${table}" SET ${sets.join(", ")} WHERE ${conditions.join(" AND ")}`,
    Parameters: parameters,
  };
}

/**
 * Retries undecided statements until `by`. Answers an error for each that stays undecided, and never throws. `onApplied` gets the index of a
 * statement as soon as it is applied.
 */
export async function runStatements(
  statements: readonly BatchStatementRequest[],
  by: Deadline,
  connection: Connection,
  onApplied: (index: number) => void = () => {},
): Promise<(Decided | Error)[]> {
  const batches = chunksOf([...statements.entries()], connection.statements);
  const results = await inParallel(batches, WIDTH, (batch) => {
    const applied = (at: number): void => onApplied(batch[at]?.[0] ?? -1);
    return runBatch(
      batch.map(([, statement]) => statement),
      by,
      connection,
      applied,
    );
  });
  return results.flat();
}

async function runBatch(
  batch: readonly BatchStatementRequest[],
  by: Deadline,
  connection: Connection,
  onApplied: (index: number) => void,
): Promise<(Decided | Error)[]> {
  // The list is empty at first: to fill it with errors would cost a stack trace for each. An index stays pending until it has a result.
  const results: (Decided | Error)[] = [];
  const backoff = backoffUntil(by, connection);
  let pending = batch.map((_, index) => index);
  try {
    while (pending.length > 0) {
      const statements = pending.map((index) => batch[index] as BatchStatementRequest);
      let doubt: unknown;
      const answers = await callOnce(statements, by, connection).catch((thrown: unknown) => {
        if (!isUnknown(thrown)) throw thrown;
        doubt = thrown;
        return [];
      });
      const undecided: number[] = [];
      for (const [at, index] of pending.entries()) {
        const result = resultOf(answers[at]);
        // rule: undecided-statement-asked-again
        if (result === undefined) undecided.push(index);
        else results[index] = result;
        if (result === "applied") onApplied(index);
      }
      pending = undecided;
      if (pending.length > 0) await backoff(doubt ?? answers[0]?.Error);
    }
  } catch (thrown) {
    for (const index of pending) results[index] = thrown as Error;
  }
  return results;
}

async function callOnce(
  statements: BatchStatementRequest[],
  by: Deadline,
  { client, clock }: Connection,
): Promise<BatchStatementResponse[]> {
  const command = new BatchExecuteStatementCommand({ Statements: statements });
  const { Responses = [] } = await client.send(withDeadline(command, by, clock));
  return Responses;
}

function resultOf(answer: BatchStatementResponse | undefined): Decided | Error | undefined {
  if (answer === undefined) return undefined;
  if (answer.Error === undefined) return "applied";
  const { Code, Message } = answer.Error;
  // rule: refused-statement-not-applied
  if (Code !== undefined && REFUSED.has(Code)) return "refused";
  return isUnknownCode(Code) ? undefined : new Error(`DynamoDB refused a statement: ${Code}: ${Message}`);
}
