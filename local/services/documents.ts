import { DatabaseSync } from "node:sqlite";

/** JSON documents by key. What `put` and `remove` did outlives the process once they have returned. */
export type Documents<T> = {
  readonly all: () => T[];
  readonly put: (key: string, document: T) => void;
  readonly remove: (key: string) => void;
  readonly close: () => void;
};

/** Without a file they are kept in memory. */
export function openDocuments<T>(file: string | undefined): Documents<T> {
  const database = new DatabaseSync(file ?? ":memory:");
  // A write costs no wait for the disk: what the operating system has, a killed process cannot lose.
  database.exec(`
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = NORMAL;
    CREATE TABLE IF NOT EXISTS documents (key TEXT PRIMARY KEY, document TEXT NOT NULL) WITHOUT ROWID`);
  const select = database.prepare("SELECT document FROM documents ORDER BY key");
  const replace = database.prepare("INSERT OR REPLACE INTO documents VALUES (?, ?)");
  const drop = database.prepare("DELETE FROM documents WHERE key = ?");
  return {
    all: () => select.all().map(({ document }): T => JSON.parse(String(document))),
    put: (key, document) => void replace.run(key, JSON.stringify(document)),
    remove: (key) => void drop.run(key),
    close: () => database.close(),
  };
}
