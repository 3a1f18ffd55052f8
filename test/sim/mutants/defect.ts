import { registerHooks } from "node:module";
import type { Mutant } from "./mutants.ts";

const ROOT = new URL("../../../", import.meta.url);

/** Whoever imports the mutant's file from now on gets it with the defect. Throws when the text does not stand there once. */
export function plant({ file, find, put, and }: Mutant): void {
  const url = new URL(file, ROOT).href;
  registerHooks({
    load(asked, context, next) {
      const loaded = next(asked, context);
      if (asked !== url) return loaded;
      const source = [{ find, put }, ...(and ? [and] : [])].reduce(replaceOnce, String(loaded.source));
      return { ...loaded, source };
    },
  });
}

function replaceOnce(source: string, { find, put }: { find: string; put: string }): string {
  const parts = source.split(find);
  if (parts.length !== 2) throw new Error(`this stands there ${parts.length - 1} times, not once: ${find}`);
  return parts.join(put);
}
