import { readFileSync } from "node:fs";

/** Reads a file in UTF-8, without the byte order mark that editors on Windows write. Throws as `readFileSync`. */
export function readText(path: string): string {
  return new TextDecoder().decode(readFileSync(path));
}
