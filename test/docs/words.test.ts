import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "..", "..");

/** Names that were unclear or had several meanings, and the names that replace them. */
const NAMES = {
  asCancelled: "endAt",
  askIn: "periodsToAsk",
  heldBefore: "pauseBound",
  homesBefore: "readHomesStartingBefore",
  isAsSet: "hasAttributes",
  isOwed: "isNextRevision",
  isSeenTo: "isHandedOver",
  isShut: "startsOutsideWindow",
  isSpread: "sendAlone",
  keepPromotions: "syncPromotions",
  keyKey: "keyItemKey",
  leftToReleases: "findLeftToReleases",
  letsVoidGo: "mayDropVoid",
  liesUnder: "isCancelledByTombstone",
  lookLater: "fileLooksAtUnsent",
  moveHeld: "moveToStarts",
  noteCrowd: "noteLastStartGiven",
  parkCarried: "parkReceived",
  seeTo: "keepOrHide",
  sendMissed: "resendMissedStarts",
  sentBefore: "findSentOrParked",
  shape: "startGate",
  standsAs: "expectTombstone",
  takeTurns: "findStartsForNotes",
  tend: "carryOut",
  turnOf: "parkedSortTime",
  unasked: "requireNotCancelled",
  unclaim: "giveClaimBack",
  unheld: "requireUnclaimed",
  withOwnKeys: "selectRedrivable",
  wordsOf: "errorTextOf",
};

/** Phrases, and the words of the field that replace them. */
const PHRASES = {
  "again and again": "idempotent, or recurring",
  "later each time and by chance": "exponential backoff with jitter",
  "is none of its": "ignores",
};

function files(...patterns: readonly string[]): string[] {
  const listed = execFileSync("git", ["ls-files", "-z", ...patterns], { cwd: ROOT, encoding: "utf8" });
  return listed.split("\0").filter((file) => file !== "" && !file.endsWith("words.test.ts"));
}

function foundIn(file: string, words: object, patternOf: (word: string) => RegExp): string[] {
  const text = readFileSync(join(ROOT, file), "utf8");
  const found = Object.entries(words).filter(([word]) => patternOf(word).test(text));
  return found.map(([word, instead]) => `${file}: say ${instead}, not ${word}`);
}

test("no declaration has a name that was given up", () => {
  const sources = files("src/protocol", "src/core", "src/settings", "src/consumer");
  expect(sources.length).toBeGreaterThan(100);
  const declared = (name: string): RegExp => new RegExp(`(?:function|const|type) ${name}\\b`);
  expect(sources.flatMap((file) => foundIn(file, NAMES, declared))).toEqual([]);
});

test("no sentence has a phrase that was given up", () => {
  const texts = files("*.ts", "*.md", ":!test", ":!CHANGELOG.md");
  expect(texts.flatMap((file) => foundIn(file, PHRASES, (phrase) => new RegExp(phrase)))).toEqual([]);
});
