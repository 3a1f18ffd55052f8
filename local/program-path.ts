import { extname, join } from "node:path";

/** A file of this folder that is started as a process of its own: TypeScript here, JavaScript in the package. */
export function programPath(name: "fauxqs" | "function" | "guard"): string {
  return join(import.meta.dirname, `${name}-process${extname(import.meta.filename)}`);
}
