import { existsSync } from "node:fs";
import { join } from "node:path";

export const EXTENSIONS = [".mjs", ".cjs", ".js"];

/** Answers the file of a function's code that exports its handler, such as `index.handler`. */
export function codeFile(dir: string, handler: string): string | undefined {
  const path = handler.slice(0, handler.lastIndexOf("."));
  return EXTENSIONS.map((extension) => join(dir, path + extension)).find((file) => existsSync(file));
}
