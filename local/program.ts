import { extname, join } from "node:path";

/** A file of this folder that is started as a process of its own: TypeScript here, JavaScript in the package. */
export function programOf(name: "fauxqs" | "guard" | "runtime"): string {
  return join(import.meta.dirname, `${name}${extname(import.meta.filename)}`);
}
