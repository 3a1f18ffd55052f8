/**
 * What a terminal does not show as it stands: control characters, which move its cursor or paint it; what turns the direction of
 * writing; what has no width, such as U+200B, U+FEFF and tags; and Unicode's separators of lines and paragraphs.
 */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** A user's text, or a stranger's, as a terminal may have it; of JSON the same value. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, (char) => char.split("").map(escaped).join(""));
}

/** A UTF-16 unit as JSON writes it. */
function escaped(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
