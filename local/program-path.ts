import { extname, join } from "node:path";

/**
 * The path of a `*-process` file in this folder, which runs as a separate process: TypeScript here, JavaScript in the npm
 * package.
 */
export function programPath(name: "dynamodb" | "fauxqs" | "function" | "guard"): string {
  return join(import.meta.dirname, `${name}-process${extname(import.meta.filename)}`);
}
