import { DatabaseSync } from "node:sqlite";
import { errorText, LocalError } from "../local-error.ts";

/** JSON documents by key. What `put` and `remove` did outlives the process once they have returned. */
export type Documents<T> = {
  readonly all: () => T[];
  readonly put: (key: string, document: T) => void;
  readonly remove: (key: string) => void;
  readonly close: () => void;
};

/** Without a file they are kept in memory. Throws `LocalError` if the file is none of these. */
export function openDocuments<T>(file = ":memory:"): Documents<T> {
  const database = open(file);
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

function open(file: string): DatabaseSync {
  try {
    const database = new DatabaseSync(file);
    // A write costs no wait for the disk: what the operating system has, a killed process cannot lose.
    database.exec(`
      PRAGMA journal_mode = WAL;
      PRAGMA synchronous = NORMAL;
      CREATE TABLE IF NOT EXISTS documents (key TEXT PRIMARY KEY, document TEXT NOT NULL) WITHOUT ROWID`);
    return database;
  } catch (error) {
    throw new LocalError(`the data in ${file} is broken: ${errorText(error)}; --reset drops all data`);
  }
}
