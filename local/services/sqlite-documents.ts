import { openDatabase } from "./open-database.ts";

/** JSON documents by key. Once `put` or `remove` has returned, a crash of the process does not undo it. */
export type Documents<T> = {
  /** Answers all documents in the order of their keys. */
  readonly all: () => T[];
  readonly put: (key: string, document: T) => void;
  readonly remove: (key: string) => void;
  readonly close: () => void;
};

const SCHEMA =
  "CREATE TABLE IF NOT EXISTS documents (key TEXT PRIMARY KEY, document TEXT NOT NULL) WITHOUT ROWID";

/** Opens a SQLite file of documents, or keeps them in memory without a file. Throws `LocalError` if the file is broken. */
export function openDocuments<T>(file = ":memory:"): Documents<T> {
  const database = openDatabase(file, SCHEMA);
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
