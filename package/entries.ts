import { readFileSync } from "node:fs";
import { join } from "node:path";

/** The folder of the package that holds its JavaScript. */
export const OUT_DIR = "dist/npm";

type Target = string | { readonly types: string; readonly default: string };
export type Manifest = {
  readonly name: string;
  readonly version: string;
  readonly peerDependencies: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<string, Target>>;
  readonly bin?: Readonly<Record<string, string>>;
};

export function readManifest(root: string): Manifest {
  return JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
}

/**
 * The sources of package.json's `exports` and `bin`, relative to the root. `dist/npm/client/client.js` is made from `client/client.ts`,
 * and so on.
 */
export function entriesOf({ exports, bin = {} }: Manifest): string[] {
  const targets = Object.values(exports).map((target) =>
    typeof target === "string" ? target : target.default,
  );
  return [...targets, ...Object.values(bin)]
    .map((target) => /^(?:\.\/)?dist\/npm\/(.*)\.js$/.exec(target)?.[1])
    .filter((path) => path !== undefined)
    .map((path) => `${path}.ts`);
}
