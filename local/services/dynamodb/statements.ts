import type { Operand } from "./conditions.ts";
import { type Condition, readCondition, readOperand } from "./conditions.ts";
import { notPlayed } from "./refusals.ts";
import { type Reader, readerOf } from "./syntax.ts";
import { readRemove, readSet, type Update } from "./updates.ts";

export type Statement =
  | {
      readonly kind: "insert";
      readonly table: string;
      readonly item: readonly (readonly [string, Operand])[];
    }
  | { readonly kind: "update"; readonly table: string; readonly update: Update; readonly where: Condition }
  | { readonly kind: "delete"; readonly table: string; readonly where: Condition };

const parsed = new Map<string, Statement>();

/** INSERT, UPDATE and DELETE: "PartiQL", DynamoDB Developer Guide. */
export function statementOf(source: string): Statement {
  const known = parsed.get(source);
  if (known) return known;
  const reader = readerOf(source, "Statement wasn't well formed, can't be processed");
  const statement = readStatement(reader);
  reader.end();
  if (parsed.size > 1000) parsed.clear();
  parsed.set(source, statement);
  return statement;
}

function readStatement(reader: Reader): Statement {
  if (reader.take("INSERT")) {
    reader.expect("INTO");
    const table = readTable(reader);
    reader.expect("VALUE");
    return { kind: "insert", table, item: readTuple(reader) };
  }
  if (reader.take("UPDATE")) {
    const table = readTable(reader);
    const update = readChanges(reader);
    reader.expect("WHERE");
    return { kind: "update", table, update, where: readCondition(reader) };
  }
  if (reader.take("DELETE")) {
    reader.expect("FROM");
    const table = readTable(reader);
    reader.expect("WHERE");
    return { kind: "delete", table, where: readCondition(reader) };
  }
  throw notPlayed("a statement that begins with another word than INSERT, UPDATE or DELETE");
}

function readTable(reader: Reader): string {
  const table = reader.takeKind("quoted") ?? reader.takeKind("name");
  if (table === undefined) throw reader.fail();
  return table;
}

function readTuple(reader: Reader): [string, Operand][] {
  reader.expect("{");
  const members: [string, Operand][] = [];
  do {
    const name = reader.takeKind("text");
    if (name === undefined) throw reader.fail();
    reader.expect(":");
    members.push([name, readOperand(reader)]);
  } while (reader.take(","));
  reader.expect("}");
  return members;
}

/** Reads `SET a = ?, b = ? REMOVE c`. Each keyword may occur several times. */
function readChanges(reader: Reader): Update {
  const update: Update[number][] = [];
  for (;;) {
    const read = reader.take("SET") ? readSet : reader.take("REMOVE") ? readRemove : undefined;
    if (!read) return update;
    do update.push(read(reader));
    while (reader.take(","));
  }
}
