import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

/** What the template and the bundles are made of, relative to the project. */
const INPUTS = [
  "aws",
  "core",
  "functions",
  "http",
  "infra",
  "protocol",
  "sdk",
  "cdk.context.json",
  "cdk.json",
  "package-lock.json",
  "package.json",
];

/** A hash of all that synthesising reads, as hex. Contents count, times do not. */
export function hashInputs(root: string): string {
  const hash = createHash("sha256").update(process.version);
  for (const path of INPUTS.flatMap((input) => filesUnder(root, input))) {
    const content = readFileSync(join(root, path));
    hash.update(`\n${path} ${content.length}\n`).update(content);
  }
  return hash.digest("hex").slice(0, 32);
}

function filesUnder(root: string, path: string): string[] {
  const stat = statSync(join(root, path), { throwIfNoEntry: false });
  if (!stat) return [];
  if (!stat.isDirectory()) return [path];
  const names = readdirSync(join(root, path)).filter((name) => name !== "node_modules");
  return names.sort().flatMap((name) => filesUnder(root, join(path, name)));
}
