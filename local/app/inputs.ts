import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type AppFolder, appFolders, changeTime, filesIn, hashPart } from "./app-folder.ts";
import { packageLists } from "./bundle-note.ts";

const FILE = "minutehand-inputs.json";
const MISSING = "missing";

/** What an assembly was made from, in addition to the files of the app's folder. */
type Inputs = {
  readonly imports: readonly string[];
  /** Hashes of the imported and bundled files outside the app's folder, by path. Lists of installed packages stand for packages. */
  readonly elsewhere: Readonly<Record<string, string>>;
};

/**
 * Answers a hash of the files outside the app's folder, or `undefined` if an input was saved since `startedAt` (ms): the assembly may
 * then contain a text that no file has any more.
 */
export function writeInputs(
  assembly: string,
  app: AppFolder,
  {
    imports,
    bundled,
    startedAt,
  }: { imports: readonly string[]; bundled: readonly string[]; startedAt: number },
): string | undefined {
  const own = new Set(appFolders(app).flatMap((folder) => filesIn(app, folder)));
  // In a workspace the packages lie above the app's folder, and so does the lock file.
  const outside = [...new Set([...imports, ...bundled, ...packageLists(app.root)])]
    .filter((path) => !own.has(path))
    .sort();
  const elsewhere = Object.fromEntries(outside.map((path) => [path, hashPart(app, path) ?? MISSING]));
  writeFileSync(join(assembly, FILE), JSON.stringify({ imports, elsewhere } satisfies Inputs));
  if ([...own, ...outside].some((path) => (changeTime(app, path) ?? 0) > startedAt)) return undefined;
  return createHash("sha256").update(JSON.stringify(elsewhere)).digest("hex").slice(0, 16);
}

export function readInputs(
  assembly: string,
): { readonly imports: readonly string[]; readonly isCurrent: boolean } | undefined {
  const file = join(assembly, FILE);
  if (!existsSync(file)) return undefined;
  const { imports, elsewhere }: Inputs = JSON.parse(readFileSync(file, "utf8"));
  const isCurrent = Object.entries(elsewhere).every(
    ([path, hash]) => (hashPart({ root: assembly }, path) ?? MISSING) === hash,
  );
  return { imports, isCurrent };
}
