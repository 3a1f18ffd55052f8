import { readFileSync } from "node:fs";
import { join } from "node:path";

/** The folder of the package that holds its JavaScript. */
export const OUT_DIR = "dist/npm";

type Code = {
  readonly types: string;
  readonly module: string;
  readonly require: string;
  readonly default: string;
};
type Target = string | Code;
export type Manifest = {
  readonly name: string;
  readonly version: string;
  /** The only files that have an effect when they are imported, so a bundler may leave out each other file that is not used. */
  readonly sideEffects: readonly string[];
  readonly peerDependencies: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<string, Target>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  /** The types of the exports, for TypeScript with `"moduleResolution": "node"`, which does not read `exports`. */
  readonly typesVersions?: { readonly "*": Readonly<Record<string, readonly string[]>> };
  readonly bin?: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
};

export function readManifest(root: string): Manifest {
  return JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
}

/** The exports that are code, such as `client`, with the JavaScript of each as ESM and as CommonJS and its types, relative to the root. */
export function codeOf({
  exports,
}: Manifest): { name: string; esm: string; commonJs: string; types: string }[] {
  return Object.entries(exports).flatMap(([path, target]) =>
    typeof target === "string"
      ? []
      : [
          {
            ...{ name: path.replace("./", ""), types: target.types },
            ...{ esm: target.default, commonJs: target.require },
          },
        ],
  );
}

/**
 * The sources of package.json's `exports` and `bin`, relative to the root. `dist/npm/src/client/client.js` is made from `src/client/client.ts`,
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
