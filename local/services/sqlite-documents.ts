import { DatabaseSync } from "node:sqlite";
import { errorText, LocalError } from "../local-error.ts";

/** JSON documents by key. Once `put` or `remove` has returned, a crash of the process does not undo it. */
export type Documents<T> = {
  /** In the order of the keys. */
  readonly all: () => T[];
  readonly put: (key: string, document: T) => void;
  readonly remove: (key: string) => void;
  readonly close: () => void;
};

/** Opens a SQLite file of documents, or keeps them in memory without a file. Throws `LocalError` if the file is broken. */
export function openDocuments<T>(file = ":memory:"): Documents<T> {
  const database = openDatabase(file);
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

function openDatabase(file: string): DatabaseSync {
  try {
    const database = new DatabaseSync(file);
    // With `synchronous = NORMAL` a write does not wait for the disk. The operating system has the data, so a killed process
    // does not lose it.
    database.exec(`
      PRAGMA journal_mode = WAL;
      PRAGMA synchronous = NORMAL;
      CREATE TABLE IF NOT EXISTS documents (key TEXT PRIMARY KEY, document TEXT NOT NULL) WITHOUT ROWID`);
    return database;
  } catch (error) {
    throw new LocalError(`the data in ${file} is broken: ${errorText(error)}; --reset drops all data`);
  }
}
