import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { errorCode, LocalError } from "../local-error.ts";

/** Nobody but its owner may read it. */
const OWNER_ONLY = 0o600;

export type JsonFile<T> = { readonly read: () => T; readonly write: (value: T) => void };

/**
 * One JSON value, kept in a file that only its owner may read, or in memory where there is none. A crash leaves
 * the old value or the new one. `read` throws `LocalError` for what is no JSON.
 */
export function jsonFile<T>(file: string | undefined, initial: T): JsonFile<T> {
  let held = initial;
  if (file === undefined)
    return {
      read: () => held,
      write: (value) => {
        held = value;
      },
    };
  return {
    read: () => {
      try {
        return JSON.parse(readFileSync(file, "utf8"));
      } catch (error) {
        if (errorCode(error) === "ENOENT") return initial;
        throw new LocalError(`${file} cannot be read: ${errorCode(error)}; mend it or remove it`);
      }
    },
    write: (value) => {
      const draft = `${file}.new`;
      writeFileSync(draft, `${JSON.stringify(value, null, 2)}\n`, { mode: OWNER_ONLY });
      renameSync(draft, file);
    },
  };
}
