import type { JobSummary } from "../../src/http/answers/jobs.ts";
import { jsonText } from "./direction.ts";

/** The texts of a job that a search looks into. A word in an earlier one tells more. */
const PLACES = ["key", "tag", "group", "schedule", "error", "body"] as const;
export type Place = (typeof PLACES)[number];

export type Search = { readonly text: string; readonly words: readonly Word[] };
type Word = {
  /** The word where a search finds it. */
  readonly found: RegExp;
  readonly whole: RegExp;
};

/** A lower `rank` is a better match. `places`: where the words stand. */
export type Match = { readonly rank: number; readonly places: readonly Place[] };

/** `order-17`, `order 17` and `order-17*` have the same two words. */
export function searchOf(asked: string): Search {
  const text = asked.trim().replace(/\*$/, "").toLowerCase();
  const words = inWords(asked)
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== "");
  return { text, words: (words.length === 0 ? [text] : words).map(wordOf) };
}

/** A long word is found anywhere, a short one where a word begins, a number where a number begins. */
function wordOf(word: string): Word {
  const literal = word.replace(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`);
  const isNumber = /^\p{N}/u.test(word);
  const begin = isNumber ? String.raw`(?<!\p{N})` : word.length < 4 ? String.raw`(?<![\p{L}\p{N}])` : "";
  return {
    found: new RegExp(begin + literal, "u"),
    whole: new RegExp(String.raw`(?<![\p{L}\p{N}])${literal}(?![\p{L}\p{N}])`, "u"),
  };
}

/** In small letters, with `orderId` as two words. */
function inWords(text: string): string {
  return text.replace(/(\p{Ll})(?=\p{Lu})/gu, "$1 ").toLowerCase();
}

/** So much of an id is no word of another text. */
const ID_BEGIN = 6;

/** A job matches if each word stands in one of its texts. Words in the name of its topic count, but do not suffice. */
export function matchOf(job: JobSummary, { text, words }: Search, body?: unknown): Match | undefined {
  const id = job.id.toLowerCase();
  if (id === text || (text.length >= ID_BEGIN && id.startsWith(text)))
    return { rank: id === text ? 0 : 1, places: [] };
  const texts = textsOf(job, body);
  const topic = inWords(job.topic);
  const firsts = words.map(({ found }) => texts.findIndex((place) => found.test(place)));
  const isAll = words.every(({ found }, at) => firsts[at] !== -1 || found.test(topic));
  const worst = Math.max(...firsts);
  if (!isAll || worst === -1) return undefined;
  const places = PLACES.filter((_, at) => firsts.includes(at));
  const names = [job.key, job.tag, job.group].map((name = "") => name.toLowerCase());
  if (names.includes(text)) return { rank: 0, places };
  if (names.some((name) => name.startsWith(text))) return { rank: 1, places };
  const isWhole = words.every(({ whole }) => [...texts, topic].some((place) => whole.test(place)));
  return { rank: 2 + 2 * worst + Number(!isWhole), places };
}

/** In the order of `PLACES`, empty where the job has no such text. */
function textsOf({ key, tag, group, schedule, lastError }: JobSummary, body: unknown): string[] {
  const bodyText = body === undefined ? "" : jsonText(body);
  return [key, tag, group, schedule, lastError, bodyText].map((text = "") => inWords(text));
}

const EXCERPT = 240;

/** The part of a long text where the first word stands that is found in it. */
export function excerptOf(text: string, { words }: Search): string {
  if (text.length <= EXCERPT) return text;
  const lower = text.toLowerCase();
  const at = Math.max(0, ...words.map(({ found }) => lower.search(found)));
  const from = Math.min(Math.max(at - EXCERPT / 2, 0), text.length - EXCERPT);
  const part = text.slice(from, from + EXCERPT);
  return `${from > 0 ? "…" : ""}${part}${from + EXCERPT < text.length ? "…" : ""}`;
}
