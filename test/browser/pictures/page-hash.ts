import { createHash } from "node:crypto";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "../../..");
export const PICTURES = join(ROOT, "docs", "pictures");
export const HASH_FILE = join(PICTURES, "console.sha256");

export function pageHash(): string {
  const hash = createHash("sha256");
  for (const file of globSync("console/page/**/*.*", { cwd: ROOT }).sort())
    hash.update(`${file}\0${readFileSync(join(ROOT, file))}\0`);
  return hash.digest("hex");
}
