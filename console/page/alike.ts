/**
 * Kinds of errors that differ only by names, such as those of customers, are one kind. A program cannot know what a name is, so kinds with the
 * same codes and the same number of parts are compared part by part. A part that has a few values tells kinds apart. A part with many values,
 * or with names, is a value. This is what IPLoM and Drain do with lines of logs, for the few hundred kinds that a page has.
 */

/** `before`: whether a space stands before the part. `jobs`: how many jobs have failed with this kind. */
type Part = { readonly text: string; readonly before: string };
type Kind = { readonly kind: string; readonly parts: readonly Part[]; readonly jobs: number };

/** Answers for each kind the name of its group. `kinds`: how many jobs have each. */
export function namesOfAlike(kinds: ReadonlyMap<string, number>): Map<string, string> {
  const all = [...kinds].map(([kind, jobs]): Kind => ({ kind, parts: partsOf(kind), jobs }));
  const alike = Map.groupBy(all, ({ parts }) => parts.map(fixedText).join("\n"));
  const groups = [...alike.values()].flatMap((some) => apart(some));
  return new Map(
    groups.flatMap((group) => {
      const name = nameOf(group);
      return group.map(({ kind }) => [kind, name] as const);
    }),
  );
}

const NAME = String.raw`[\p{Lu}\p{Lt}][\p{L}\p{M}'’./-]*(?<!\.)`;
const BETWEEN = "(?:&|\\+|and|und|et|y|e|of|de|del|della|di|da|do|la|le|von|van|der|den|ter|zu)";
/** A code, such as `IBAN`, is no beginning of `IBAN of Ann Lee`. */
const NEXT = String.raw`(?:,? |(?<!\b[A-Z]{2,}) (?:${BETWEEN} ){1,2})`;
/** Names that follow each other are one part: `Müller & Söhne`. Punctuation is a part of its own. */
const PARTS = new RegExp(
  String.raw`${NAME}(?:${NEXT}${NAME})*|[^\s,;:!?()[\]{}]+?(?=\.?(?:[\s,;:!?()[\]{}]|$))|\S`,
  "gu",
);

function partsOf(kind: string): Part[] {
  return [...kind.matchAll(PARTS)].map(({ 0: text, index }) => ({
    text,
    before: /\s/.test(kind[index - 1] ?? "") ? " " : "",
  }));
}

/** Codes, names of the program, places of the code and reasons of HTTP tell kinds apart, however many there are. */
const FIXED =
  /\d|^\S*[_=<>/\\'"`@$#*|]\S*$|…\S|\S…|\S\.\S|^[A-Z]{2,}$|^\S*[a-z][A-Z]\S*$|^[^\p{L}…]+$|^(?:Bad|Unauthorized|Forbidden|Not|Conflict|Gone|Unprocessable|Too|Internal|Service|Gateway|Server|Client|Request|Payment|Method|Precondition|Payload|Timeout)\b/u;

function fixedText({ text }: Part): string {
  return FIXED.test(text) ? text : "";
}

/** The group, or its parts if it has several kinds of errors. */
function apart(group: readonly Kind[]): (readonly Kind[])[] {
  const varying = varyingOf(group);
  const telling = varying.filter((place) => !isValue(group, place));
  // Too few words are the same: these errors have only their length in common.
  const isLoose = !hasSameWords(group, varying);
  const [first, ...others] = telling.length > 0 ? telling : isLoose ? varying : [];
  if (first === undefined) return [group];
  const fewest = others.reduce(
    (best, place) => (valuesAt(group, place).size < valuesAt(group, best).size ? place : best),
    first,
  );
  return [...Map.groupBy(group, ({ parts }) => parts[fewest]?.text).values()].flatMap(apart);
}

function valuesAt(group: readonly Kind[], place: number): Set<string> {
  return new Set(group.map(({ parts }) => parts[place]?.text ?? ""));
}

function varyingOf(group: readonly Kind[]): number[] {
  return [...(group[0]?.parts.keys() ?? [])].filter((place) => valuesAt(group, place).size > 1);
}

/** At least two words, and half of the words, are the same in all errors of a group. */
function hasSameWords([first]: readonly Kind[], varying: readonly number[]): boolean {
  const words =
    first?.parts.filter(({ text }, place) => /\p{L}/u.test(text) && !varying.includes(place)) ?? [];
  return words.length >= 2 && words.length >= varying.length;
}

/** What has names. */
const NAMED =
  /^(?:customers?|clients?|users?|account|company|tenant|merchant|supplier|vendor|patient|guest|buyer|seller|member|employee|driver|owner|person|contact|recipient|kunden?|cliente|named)$/i;
const BEFORE_NAME = /^(?:for|by|to|from|of|für|von|an|para|pour)$/i;
/** Forms of companies. */
const SIGN = /&|\b(?:GmbH|AG|KG|UG|SE|Ltd|Inc|LLC|LLP|PLC|Co|Corp|SA|SAS|SARL|SRL|BV|NV|AB|Oy|AS|Pty)\b/;
const FEW_NAMES = 2;
const MANY_VALUES = 5;
/** If jobs share a value more often, the value may say what is wrong. */
const LEAST_DIFFERENT = 0.8;

/** Whether a part with several values says nothing of the kind of the errors. */
function isValue(group: readonly Kind[], place: number): boolean {
  const values = [...valuesAt(group, place)].filter((text) => text !== "…");
  const before = place === 0 ? "." : (group[0]?.parts[place - 1]?.text ?? "");
  // The first word of a sentence is in capitals too.
  const isFirst = /^[.:]$/.test(before);
  const names = values.filter((text) => /^[\p{Lu}\p{Lt}]/u.test(text) && (!isFirst || text.includes(" ")));
  if (names.length * 2 >= values.length) {
    const isWholeName = (text: string) => text.includes(" ") && (BEFORE_NAME.test(before) || SIGN.test(text));
    const isNamed = NAMED.test(before) || names.some(isWholeName);
    return values.length >= (isNamed ? FEW_NAMES : MANY_VALUES);
  }
  const jobs = group.reduce((sum, one) => sum + one.jobs, 0);
  return values.length >= MANY_VALUES && values.length >= jobs * LEAST_DIFFERENT;
}

function nameOf(group: readonly Kind[]): string {
  const [first] = group;
  if (first === undefined || group.length === 1) return first?.kind ?? "";
  const varying = new Set(varyingOf(group));
  return first.parts.map(({ text, before }, place) => before + (varying.has(place) ? "…" : text)).join("");
}
