/** Control characters, changes of direction, characters without width (U+200B, U+FEFF, tags), line and paragraph separators. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Escapes the characters of an untrusted text that a terminal would act on or hide. Escaped JSON keeps its value. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, (char) => char.split("").map(escaped).join(""));
}

/** Writes a UTF-16 unit as JSON does: `\u001b`. */
function escaped(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
