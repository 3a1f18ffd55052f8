import { DatabaseSync } from "node:sqlite";
import { errorText, LocalError } from "../local-error.ts";
import { makePrivateFile } from "../private-files.ts";

/** Only the owner can read the file. `:memory:` keeps it in memory. Throws `LocalError` if the file is broken. */
export function openDatabase(file: string, schema: string): DatabaseSync {
  try {
    if (file !== ":memory:") makePrivateFile(file);
    const database = new DatabaseSync(file);
    // With NORMAL a write does not wait for the disk. The operating system has the data, so a killed process does not lose it.
    database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; ${schema}`);
    return database;
  } catch (error) {
    throw new LocalError(`the data in ${file} is broken: ${errorText(error)}; --reset drops all data`);
  }
}
