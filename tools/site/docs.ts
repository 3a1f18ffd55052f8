import { globSync } from "node:fs";
import { join } from "node:path";

export const DOCS = join(import.meta.dirname, "..", "..", "docs");

export function pages(): string[] {
  return globSync("**/*.md", { cwd: DOCS }).sort();
}
