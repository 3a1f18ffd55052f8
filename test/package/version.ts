import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../deploy/environment.ts";

/** Answers a package with the version that this repository has, as npm takes it: `esbuild@0.28.2`. */
export function versionOf(name: string): string {
  const { devDependencies } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  return `${name}@${devDependencies[name]}`;
}
