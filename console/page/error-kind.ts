import { withVisibleMarks } from "./direction.ts";

/**
 * Names the kind of an error: its first telling line, in which values that differ from job to job are `…`. Statuses of HTTP, codes of
 * errors and names of the program stay, because errors with other ones have other causes.
 */
export function kindOf(error = ""): string {
  const shielded = SHIELDED.reduce(
    (text, kept) => text.replace(kept, withoutDigits),
    withoutQuoted(lineOf(error)),
  );
  const replaced = VALUES.reduce((text, value) => text.replace(value, "…"), shielded)
    .replace(OPAQUE_IDS, (id, kind) => (isOpaque(id) ? `${kind}…` : id))
    .replace(WITH_DIGITS, nameOfWord)
    .replace(/…(?:[\s,;/+]*…)+/g, "…");
  const name = withDigits(replaced).slice(0, LONGEST_NAME).trim();
  return name === "" ? "no error was recorded" : name;
}

/** The line of an error that its kind is made of. */
function lineOf(error: string): string {
  return withVisibleMarks(tellingLineOf(error)).slice(0, LONGEST_LINE);
}

const LONGEST_VALUE = 80;

/** The name of a kind, in which each `…` that stands for the same value in all of these errors is that value. */
export function withSharedValues(name: string, errors: readonly string[]): string {
  const pieces = name.split("…");
  const [first = "", ...others] = pieces;
  let shared: (string | undefined)[] | undefined;
  for (const error of errors) {
    const values = valuesIn(lineOf(error).replace(/\s+/g, " ").trim(), pieces);
    shared = shared?.map((value, at) => (value === values[at] ? value : undefined)) ?? values;
    if (shared.every((value) => value === undefined)) return name;
  }
  return others.reduce((text, piece, at) => `${text}${shared?.[at] ?? "…"}${piece}`, first);
}

/** What stands between the pieces of a name. `undefined`: not known, or too long. */
function valuesIn(line: string, pieces: readonly string[]): (string | undefined)[] {
  const isCut = pieces.join("…").length >= LONGEST_NAME - 1;
  let at = line.startsWith(pieces[0] ?? "") ? (pieces[0]?.length ?? 0) : Number.NaN;
  return pieces.slice(1).map((piece, place) => {
    const isLast = place === pieces.length - 2;
    const next = isLast && !isCut ? line.length - piece.length : line.indexOf(piece, at);
    const isFound = next >= at && line.startsWith(piece, next) && (piece !== "" || (isLast && !isCut));
    const value = line.slice(at, next);
    at = isFound ? next + piece.length : Number.NaN;
    return isFound && value.length <= LONGEST_VALUE ? value : undefined;
  });
}

const LONGEST_LINE = 1000;
/** The API cuts long errors. So two long errors of one kind are cut at different words, and their names must end before. */
const LONGEST_NAME = 160;

/** Python tells the error in the last line. JSON on several lines is joined. */
function tellingLineOf(error: string): string {
  const lines = error.split("\n").filter((line) => line.trim() !== "");
  const [first = ""] = lines;
  if (first.startsWith("Traceback ")) return lines.findLast((line) => !line.startsWith(" ")) ?? first;
  return /[a-z]/i.test(first) ? first : lines.map((line) => line.trim()).join(" ");
}

// Texts in quotes

const QUOTED =
  /(?<![\w\\])(?:"((?:[^"\\]|\\.)*)(?:"|$)|'([^']*)(?:'(?!\w)|$)|`([^`]*)`|“([^”]*)”|„([^“”]*)[“”]|«([^»]*)»|‘([^’]*)’(?!\w))/g;
/** What stands before the name of a column, a function or a code, and not before a value of a job. */
const BEFORE_NAME = new RegExp(
  `(?:\\b(?:${[
    "reading|setting|properties|property|attribute|column|relation|table|constraint|index|module|package",
    "function|type|field|fields|parameter|argument|method|class|schema|role|for key|operator|import|export",
    "variable|permission|name|host|access|code|errno|SQLSTATE|error|KeyError|AttributeError|NameError",
  ].join("|")})[\\s:=(\\[]*|"(?:error|code|type|message|reason|status|title|detail|name|__type)"\\s*:\\s*)$`,
);
const AFTER_NAME =
  /^ (?:object\b|is not (?:defined|a function|iterable|a constructor)|violates|does not exist in)/;
const NAME = /^(?:[A-Za-z_$][\w$.:/@-]{0,79}|[A-Z\d]{1,5})$/;
/** At least four words, almost all of them in small letters: a sentence, and not the value of a field. */
const SENTENCE = /^(?:[A-Z]\w*|[a-z]+)(?:[\s,:.]+(?:[a-z]+|[\d.]+|\S+(?=\s[a-z]))){3,}/;

/** Quoted texts are values of a job. Only names of the program, keys of JSON, and sentences stay. */
function withoutQuoted(text: string): string {
  return text.replace(QUOTED, (...match) => {
    const [quoted, ...inner] = match.slice(0, 8) as string[];
    const at = match.at(-2) as number;
    const said = inner.find((part) => part !== undefined) ?? "";
    const [before, after] = [text.slice(0, at), text.slice(at + (quoted ?? "").length)];
    const isKey = /[{,]\s*$/.test(before) && /^\s*:/.test(after);
    const isClosed = (quoted ?? "").length === said.length + 2;
    const isNamed = BEFORE_NAME.test(before) || AFTER_NAME.test(after);
    const isKept =
      isKey ||
      (isClosed && SENTENCE.test(said)) ||
      (isNamed && (NAME.test(said) || /"\s*:\s*$/.test(before)));
    return isKept ? (quoted ?? "") : "…";
  });
}

// Numbers that stay

/** What follows a number that counts something, such as `412 items` or `500 ms`. */
const COUNTED = String.raw`(?![.,:]?\d|\s*(?:%|(?:[KMGT]i?)?B|ms|s|sec|min|h|of|(?!was|is|has|this|status|as|always)[a-z]+s)\b)`;
const REASONS = [
  "Bad Request|Unauthorized|Payment Required|Forbidden|Not Found|Method Not|Not Acceptable|Request Time|Conflict",
  "Gone|Length Required|Precondition|Payload|Content Too|Unsupported|Unprocessable|Locked|Too Early|Too Many",
  "Internal|Not Implemented|Bad Gateway|Service|Gateway|Client Error|Server Error|error\\b|response\\b",
].join("|");
const BEFORE_STATUS = [
  String.raw`HTTP(?:\/[\d.]+)?|[Ss]tatus(?:[\s_]?[Cc]ode)?|[Cc]ode|[Rr]espon\w+|[Aa]nswer\w*|[Rr]eturn\w*|[Rr]epl\w+`,
  "[Gg]ot|[Rr]eceived|[Ee]rror|failed with",
].join("|");
const SMALL_WORDS = String.raw`(?:(?:with|of|is|was|an?|the|[Ss]tatus|[Cc]ode|HTTP|error|response)\b[\s:=("'\[]*)*`;

/** Numbers that say which kind of error it is. */
const SHIELDED = [
  new RegExp(
    String.raw`(?<=\b(?:${BEFORE_STATUS})\b["']?[\s:=("'\[]*${SMALL_WORDS})[1-5]\d\d\b${COUNTED}`,
    "g",
  ),
  new RegExp(String.raw`\b[1-5]\d\d(?=[\s:(–-]*(?:${REASONS}))`, "g"),
  /(?<=^(?:\w*(?:Error|Exception|Failure):\s*)*)[1-5]\d\d\b(?=\s*(?:$|[:,({–-]))/g,
  /(?<=\b(?:[Ee]rrno|SQLSTATE)[\s:=("'[]*)-?\w{1,5}\b/g,
  /(?<=\b(?:(?:[Ee]xit|[Ee]rror|[Rr]eturn|[Rr]esult|[Cc]lose|[Rr]eason|[Ss]ql|[Ss]tatus|with)[\s_-]?code\s*|[Cc]ode"?[:=]\s*)["'(]?)-?[A-Z\d]{1,5}\b/g,
  /\b(?:E1\d{4}|ORA-\d{5}|PLS-\d{5}|DPY-\d{4}|P[1-6]\d{3}|TS\d{4,5})\b/g,
  // Words of computing that have digits.
  /\b(?:S3|EC2|Route53|R2|D1|K8s|HTTP\/?[123](?:\.\d)?|h[23]|IPv[46]|OAuth2?|x\.?509|SHA-?\d+|MD5|UTF-?\d+|base64|u?int\d+|float\d+|TLS ?v?1(?:\.\d)?|SSLv?[23]|[REPH]S(?:256|384|512)|v\d{1,2}|[a-z]{2}(?:-[a-z]+)+-\d|x86(?:_64)?|arm64|i18n|log4j|neo4j|python[23]|psycopg[23]|boto3?|urllib3|mysql2|better-sqlite3|sqlite3|web3|utf8mb4|mp[34]|p\d\d)\b/gi,
  /(?<=<\/?)h\d(?=>)/g,
  /\b[A-Z]+\d{0,2}[A-Z]*(?:_[A-Z]+\d{0,2}[A-Z]*)+\b/g,
];

const SHIELD = 0xe000;
function withoutDigits(text: string): string {
  return text.replace(/\d/g, (digit) => String.fromCharCode(SHIELD + Number(digit)));
}
function withDigits(text: string): string {
  return text.replace(/[\ue000-\ue009]/g, (digit) => String(digit.charCodeAt(0) - SHIELD));
}

// Values

const MONTH = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*";
const CLOCK = String.raw`\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:\s?(?:Z|[AP]M|(?:GMT|UTC)?(?:[+-]\d\d:?\d\d)?)(?![\w]))?(?: \([A-Z][A-Za-z ]+\))?`;
const UNITS =
  "%|[€$£¥]|(?:[KMGT]i?)?B\\b|(?:bytes?|[mµn]?s|m|h|d|(?:milli|micro)?sec(?:ond)?s?|min(?:ute)?s?|hours?|days?)\\b";

const FILES =
  "pdf|csv|tsv|txt|xml|xlsx?|ods|docx?|odt|pptx?|rtf|eml|ics|vcf|zip|gz|tar|jpe?g|png|gif|webp|tiff?|heic|mp[34]|mov|wav";

const VALUES = [
  // The query of a URL.
  /(?<=https?:\/\/[^\s?#]+)\?[^\s)"'>]*/g,
  /(?<![\p{L}\d])[\p{L}\d_.+-]+@[\p{L}\d-]+(?:\.[\p{L}\d-]+)+/gu,
  // Files of users. Those of the program stay.
  new RegExp(String.raw`(?<![^\s("'=:,])(?!\w+:\/\/)[^\s"'()=,]+\.(?:${FILES})\b`, "gi"),
  /(?<==)\([^()]*\)/g,
  /\b[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}\b/gi,
  new RegExp(String.raw`\b\d{4}-\d\d-\d\d(?:[T ]${CLOCK})?`, "g"),
  new RegExp(
    String.raw`(?:\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,?\s+)?(?:\b\d{1,2}\s+${MONTH}|\b${MONTH}\s+\d{1,2})(?:,?\s+\d{4})?(?:,?\s+(?:at )?${CLOCK})?(?:\s+\d{4})?(?!\w)`,
    "g",
  ),
  /(?<![\w:])\[?(?=[\da-f:]*\d)(?:[\da-f]{0,4}:){2,7}[\da-f]{0,4}\]?(?::\d+)?(?!\w)/gi,
  /\b\d+(?:\.\d+){3}(?::\d+|\/\d+)?\b/g,
  /(?<![\w/+])(?=[\w+/]*\d)(?=[\w+/]*[a-z])(?=[\w+/]*[A-Z])[\w+/]{32,}={0,2}/g,
  new RegExp(
    String.raw`(?<![\w-])[-+−]?(?:[$€£¥]\s?)?\d+(?:[.,:'’]\d+)*(?:e[+-]?\d+)?(?:\s?(?:${UNITS}))?(?![\w-])`,
    "g",
  ),
];

/** Ids such as `cus_NffrFeUfNVHibx`, which may have no digit. */
const OPAQUE_IDS = /\b([a-z]{2,8}_(?:(?:test|live)_)?)[A-Za-z0-9]{12,}\b/g;
function isOpaque(id: string): boolean {
  const random = id.slice(id.lastIndexOf("_") + 1);
  return /\d/.test(random) || random.replace(/[^A-Z]/g, "").length > random.length / 4;
}

const WITH_DIGITS = /(?<![\w-])(?=[\w-]*\d)[\w-]+/g;
/** Ids such as `cus_ofw4`: a short kind, and letters with digits. */
const SHORT_ID = /^([a-z]{2,4}_)(?=[a-z]*\d)(?=\d*[a-z])[a-z\d]{4,}$/;
/** `order-…` for `order-17`, `cus_…` for `cus_4fK9x2`, `…` for an id that begins with no word. */
function nameOfWord(word: string): string {
  const [, kind] = SHORT_ID.exec(word) ?? [];
  if (kind !== undefined) return `${kind}…`;
  const parts = word.split(/([-_]+)/);
  const random = parts.findIndex(isRandom);
  if (random === -1) return parts.map(nameOfPart).join("");
  const isNamed = parts
    .slice(0, random)
    .every((part) => /^(?:[a-z]+|[A-Z]{2,6}|[A-Z][a-z]+|[-_]+)$/.test(part));
  return isNamed ? `${parts.slice(0, random).join("")}…` : "…";
}

function isRandom(part: string): boolean {
  if (!/\d/.test(part) || !/[a-z]/i.test(part)) return false;
  const changes = part.match(/\d(?=[a-z])|[a-z](?=\d)/gi)?.length ?? 0;
  return part.length >= 12 || (part.length >= 6 && changes >= 2) || /^[\da-f]{8,}$/i.test(part);
}

/** `user…` for `user17`. */
function nameOfPart(part: string): string {
  if (!/\d/.test(part)) return part;
  return /^[a-z]{3,}\d+$/i.test(part) ? part.replace(/\d+$/, "…") : "…";
}
