import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { startGuard } from "../../../local/processes/guard.ts";
import { portableDynamoProgram } from "../../../local/processes/portable-dynamo.ts";
import { supervise } from "../../../local/processes/supervise.ts";
import { keepDeletingExpired } from "../../../local/services/dynamodb/expiry.ts";
import { openTableStore } from "../../../local/services/dynamodb/table-store.ts";

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "minutehand-expiry-"));
  file = join(folder, "dynamodb.sqlite");
});
afterEach(() => {
  vi.useRealTimers();
  rmSync(folder, { recursive: true });
});

/** Makes a file with an expired item that SQLite cannot delete, as on a full disk. The answered function makes room. */
function fullStore(now: number) {
  const store = openTableStore(file);
  const table = store.createTable({
    name: "jobs",
    keySchema: [{ AttributeName: "pk", KeyType: "HASH" }],
    attributes: [{ AttributeName: "pk", AttributeType: "S" }],
    indexes: [],
    createdAt: now,
    timeToLive: "expiresAt",
  });
  store.put(table, { pk: { S: "a" }, expiresAt: { N: String(now / 1000 - 60) } });
  const database = new DatabaseSync(file);
  database.exec(
    "CREATE TRIGGER full BEFORE DELETE ON items BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END",
  );
  const makeRoom = () => {
    database.exec("DROP TRIGGER full");
    database.close();
  };
  return { store, table, makeRoom };
}

test("while the disk is full expired items stay, the log says so once, and the next minute with room deletes them", () => {
  const now = 1_800_000_000_000;
  const { store, table, makeRoom } = fullStore(now);
  const lines: string[] = [];
  vi.useFakeTimers();
  const stop = keepDeletingExpired(
    store,
    () => now,
    (line) => lines.push(line),
  );
  vi.advanceTimersByTime(180_000);
  expect(lines).toEqual(["expired items are not deleted: database or disk is full"]);
  expect(store.count(table)).toBe(1);
  makeRoom();
  vi.advanceTimersByTime(60_000);
  expect(lines.slice(1)).toEqual(["expired items are deleted again"]);
  expect(store.count(table)).toBe(0);
  stop();
  store.close();
});

test("the portable DynamoDB starts and answers although it cannot delete expired items, and the runner logs the reason", async () => {
  const { store, makeRoom } = fullStore(Date.now());
  store.close();
  const { program, endpoint } = await portableDynamoProgram(file);
  const lines: string[] = [];
  const guard = startGuard();
  const [log, fail] = [(line: string) => lines.push(line), (error: Error) => lines.push(error.message)];
  const supervisor = await supervise(program, { guard, log, onRestart: () => {}, onLost: fail });
  try {
    await expect
      .poll(() => lines, { interval: 5 })
      .toEqual(["the portable DynamoDB: expired items are not deleted: database or disk is full"]);
    const headers = { "x-amz-target": "DynamoDB_20120810.ListTables" };
    const answer = await fetch(endpoint, { method: "POST", headers, body: "{}" });
    expect(await answer.json()).toEqual({ TableNames: ["jobs"] });
  } finally {
    await supervisor.stop();
    guard.stop();
    makeRoom();
  }
});
