import { createHash, randomInt } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Seeds are 32 bits to what draws by them; behind the first there is room for a million. */
const MOST = 2 ** 31 - 1_000_000;
const ROOT = join(import.meta.dirname, "../..");
/** What comes and goes without a commit; hidden files are left out too. */
const NOT_OURS = new Set(["node_modules", "dist", "cdk.out", "coverage"]);

/** A first seed that nobody has played yet, most likely. */
export function freshSeed(): number {
  return randomInt(1, MOST);
}

/**
 * The first seed of `npm test`: another one with every commit, and the same one for all who have the same files, with or
 * without git.
 */
export function seedOfTree(): number {
  const hash = createHash("sha256");
  const add = (folder: string): void => {
    const entries = readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
    for (const entry of entries) {
      const path = join(folder, entry.name);
      if (NOT_OURS.has(entry.name) || entry.name.startsWith(".")) continue;
      if (entry.isDirectory()) add(path);
      else if (entry.isFile()) hash.update(entry.name).update("\0").update(readFileSync(path));
    }
  };
  add(ROOT);
  return 1 + (hash.digest().readUInt32BE() % MOST);
}
