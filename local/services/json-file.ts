import { readFileSync } from "node:fs";
import { errorCode, LocalError } from "../local-error.ts";
import { writePrivateFile } from "../private-files.ts";

export type JsonFile<T> = { readonly read: () => T; readonly write: (value: T) => void };

/** Only the owner can read the file. A crash in `write` leaves the old or the new value. `read` throws `LocalError` if it is no JSON. */
export function jsonFile<T>(file: string | undefined, initial: T): JsonFile<T> {
  let inMemory = initial;
  if (file === undefined)
    return {
      read: () => inMemory,
      write: (value) => {
        inMemory = value;
      },
    };
  return {
    read: () => {
      try {
        return JSON.parse(readFileSync(file, "utf8"));
      } catch (error) {
        if (errorCode(error) === "ENOENT") return initial;
        throw new LocalError(`${file} cannot be read: ${errorCode(error)}; fix it or delete it`);
      }
    },
    write: (value) => writePrivateFile(file, `${JSON.stringify(value, null, 2)}\n`),
  };
}
