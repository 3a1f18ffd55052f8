import { invalid } from "./refusals.ts";
import type { Reader } from "./syntax.ts";
import type { Item, Value } from "./values.ts";

export type Placeholders = {
  readonly names: Readonly<Record<string, string>>;
  readonly values: Readonly<Record<string, Value>>;
};

/** A step of a path: a name, a placeholder `#name` of one, or the index of a list. */
export type Path = readonly (string | number | { readonly placeholder: string })[];
export type Resolved = readonly (string | number)[];

/** Reads `name`, `"name"` or `#name`, and any `.name` and `[0]` after it. */
export function readPath(reader: Reader): Path {
  const path: Path[number][] = [readStep(reader)];
  for (;;) {
    if (reader.take(".")) path.push(readStep(reader));
    else if (reader.take("[")) {
      const index = reader.takeKind("number");
      if (index === undefined) throw reader.fail();
      reader.expect("]");
      path.push(Number(index));
    } else return path;
  }
}

function readStep(reader: Reader): Path[number] {
  const name = reader.takeKind("name") ?? reader.takeKind("quoted");
  if (name !== undefined) return name;
  const next = reader.peek();
  if (next?.kind !== "placeholder" || !next.text.startsWith("#")) throw reader.fail();
  return { placeholder: reader.takeKind("placeholder") ?? "" };
}

export function resolvePath(path: Path, { names }: Placeholders): Resolved {
  return path.map((step) => {
    if (typeof step !== "object") return step;
    const name = names[step.placeholder];
    if (name === undefined)
      throw invalid(
        `An expression attribute name used in the document path is not defined; attribute name: ${step.placeholder}`,
      );
    return name;
  });
}

export function valueAt(item: Item, path: Resolved): Value | undefined {
  let found: Value | undefined = { M: item };
  for (const step of path) {
    if (typeof step === "number") found = found?.L?.[step];
    else found = found?.M && Object.hasOwn(found.M, step) ? found.M[step] : undefined;
  }
  return found;
}

/** Answers the item with another value at the path, or without it. Shares all else with the item. */
export function withValueAt(item: Item, path: Resolved, value: Value | undefined): Item {
  const [step = "", ...rest] = path;
  if (typeof step === "number") throw unfit();
  const { [step]: before, ...others } = item;
  const after = rest.length === 0 ? value : within(before, rest, value);
  return after === undefined ? others : { ...others, [step]: after };
}

function within(parent: Value | undefined, path: Resolved, value: Value | undefined): Value | undefined {
  const [step, ...rest] = path;
  if (typeof step === "string") {
    if (parent?.M === undefined) return missing(parent, value);
    return { M: withValueAt(parent.M, path, value) };
  }
  const list = parent?.L;
  if (list === undefined || step === undefined) return missing(parent, value);
  const after = rest.length === 0 ? value : within(list[step], rest, value);
  // A value for an index beyond the end of a list is appended.
  const at = Math.min(step, list.length);
  return { L: [...list.slice(0, at), ...(after === undefined ? [] : [after]), ...list.slice(at + 1)] };
}

/** Handles a step that is not in `parent`: a removal has no effect, and a new value is refused, as no map or list can take it. */
function missing(parent: Value | undefined, value: Value | undefined): Value | undefined {
  if (value === undefined) return parent;
  throw unfit();
}

function unfit(): Error {
  return invalid("The document path provided in the update expression is invalid for update");
}

/** Answers only the parts of an item at these paths. The entries that are left of a list close up. */
export function projectItem(item: Item, paths: readonly Resolved[]): Item {
  return partsOf({ M: item }, paths)?.M ?? {};
}

function partsOf(value: Value, paths: readonly Resolved[]): Value | undefined {
  if (paths.some((path) => path.length === 0)) return value;
  const below = (step: string | number) =>
    paths.filter(([first]) => first === step).map(([, ...rest]) => rest);
  if (value.M) {
    const kept = Object.entries(value.M).flatMap(([name, member]) => {
      const part = below(name).length > 0 ? partsOf(member, below(name)) : undefined;
      return part === undefined ? [] : [[name, part]];
    });
    return kept.length === 0 ? undefined : { M: Object.fromEntries(kept) };
  }
  const kept = (value.L ?? []).flatMap((entry, index) =>
    below(index).length > 0 ? (partsOf(entry, below(index)) ?? []) : [],
  );
  return kept.length === 0 ? undefined : { L: kept };
}
