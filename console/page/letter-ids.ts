import { kindOf } from "./error-kind.ts";

/** `cus_dhrsi`: a random id that has no digit by chance. It looks like `error_refused`, which names the kind of an error. */
const LETTER_ID = /(?<![\w-])([a-z]{2,8}[-_])([A-Za-z]{4,})(?![\w-])/g;
/** Ids count as random if they show at least so many different orders of letters and digits. Codes such as `e101` and `e102` show one. */
const RANDOM_PATTERNS = 5;

/** The errors of each kind, one for each job. */
type Kinds = ReadonlyMap<string, readonly string[]>;

/**
 * Answers for each kind the kind that it joins, or itself. A kind joins one whose errors are the same except for the id. Jobs are redriven by
 * kind, so the ids of that one must look random, and have the same prefix and length.
 */
export function withoutLetterIds(kinds: Kinds): ReadonlyMap<string, string> {
  const highest = new Map<string, number>();
  return new Map([...kinds].map(([kind, errors]) => [kind, otherKind(kind, errors) ?? kind]));

  function otherKind(kind: string, errors: readonly string[]): string | undefined {
    for (const [id, prefix = "", letters = ""] of kind.matchAll(LETTER_ID)) {
      const withDigits = prefix + "0a".repeat(letters.length).slice(0, letters.length);
      const other = kindOf(errors[0]?.replaceAll(id, withDigits));
      const asked = `${prefix}${letters.length} ${other}`;
      const most = highest.get(asked) ?? mostOfRandom(kinds.get(other) ?? [], prefix, letters.length);
      highest.set(asked, most);
      // If more jobs share it than share any of the ids, it may say what is wrong.
      if (errors.length <= most) return other;
    }
    return undefined;
  }
}

/** How many errors share the most frequent of the ids with this prefix and length. 0: these ids do not look random. */
function mostOfRandom(errors: readonly string[], prefix: string, length: number): number {
  const id = new RegExp(`(?<![\\w-])${prefix}([A-Za-z\\d]{${length}})(?![\\w-])`);
  const ids = Map.groupBy(
    errors.flatMap((error) => id.exec(error)?.[1] ?? []),
    String,
  );
  const patterns = new Set([...ids.keys()].map((one) => one.replace(/[A-Za-z]/g, "a").replace(/\d/g, "0")));
  if (patterns.size < RANDOM_PATTERNS) return 0;
  return [...ids.values()].reduce((most, { length: jobs }) => Math.max(most, jobs), 0);
}
