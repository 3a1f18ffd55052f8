import { registerHooks } from "node:module";
import { messageOf } from "../../../src/core/errors.ts";
import type { Change, Edit } from "./changes.ts";
import { type Marked, markedNodes, parse } from "./marked.ts";
import type { Mutant } from "./mutants.ts";
import { undeclaredNames } from "./names.ts";

const ROOT = new URL("../../../", import.meta.url);

/** From now on, this thread loads the mutant's file with the defect. Throws as `damage` does. */
export function plant(mutant: Mutant): void {
  const { file, damaged } = damage(mutant, markedNodes());
  const url = new URL(file, ROOT).href;
  registerHooks({
    load(asked, context, next) {
      const loaded = next(asked, context);
      return asked === url ? { ...loaded, source: damaged } : loaded;
    },
  });
}

/**
 * Throws if a marker is missing or the change does not fit; also if the result does not parse, is the same, or uses an undeclared name,
 * whose exception would break promises in place of the missing rule.
 */
export function damage(
  { name, rule, change, and }: Mutant,
  nodes: Pick<ReadonlyMap<string, Marked>, "get">,
): { file: string; damaged: string } {
  const fail = (why: string): never => {
    throw new Error(`the mutant "${name}": ${why}`);
  };
  const marked = (wanted: string): Marked =>
    nodes.get(wanted) ?? fail(`nothing is marked // rule: ${wanted}`);
  const { file, source } = marked(rule);
  const here = (wanted: string): Marked => {
    const found = marked(wanted);
    return found.file === file ? found : fail(`// rule: ${wanted} is not in ${file} but in ${found.file}`);
  };
  const editsOf = (place: string, apply: Change): Edit[] => {
    const at = here(place);
    try {
      return apply(at, here);
    } catch (error) {
      return fail(`below // rule: ${place} in ${file}: ${messageOf(error)}`);
    }
  };
  const edits = [...editsOf(rule, change), ...(and ? editsOf(and.rule, and.change) : [])];
  const damaged = edits
    .sort((a, b) => b.start - a.start)
    .reduce((text, edit) => text.slice(0, edit.start) + edit.text + text.slice(edit.end), source);
  if (damaged === source) fail("its change does nothing");
  const unknown = undeclaredNames(parse(file, damaged));
  if (unknown.length > 0) fail(`nothing declares ${unknown.join(", ")} in ${file}`);
  return { file, damaged };
}
