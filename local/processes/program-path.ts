import { extname, join } from "node:path";

/** A `*-process` file of this folder is TypeScript here, and JavaScript in the npm package. */
export function programPath(name: "dynamodb" | "fauxqs" | "function" | "guard"): string {
  return join(import.meta.dirname, `${name}-process${extname(import.meta.filename)}`);
}
