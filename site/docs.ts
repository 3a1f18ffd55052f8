import { globSync } from "node:fs";
import { join } from "node:path";

export const DOCS = join(import.meta.dirname, "..", "docs");

/** The pages of the documentation, by their paths from `docs/`. */
export function pages(): string[] {
  return globSync("**/*.md", { cwd: DOCS }).sort();
}
