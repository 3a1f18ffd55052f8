import { GROUP_CHARS, HEADERS_BYTES, TAG_BYTES } from "../../core/constants.ts";
import { JOB_OPTIONS, OPTION_NAMES } from "../../core/job-options.ts";
import { SETTINGS } from "../../core/topic-settings.ts";
import { documentedFields, firstSentence } from "../docstrings.ts";
import { code, table } from "../markdown.ts";

const UNITS = [
  ["day", 86_400],
  ["h", 3600],
  ["min", 60],
  ["s", 1],
] as const;

/** Every setting of a topic. */
export function topicSettings(): string {
  const file = new URL("../../core/topic-settings.ts", import.meta.url);
  const docstrings = new Map(documentedFields(file, "TopicSettings").map((field) => [field.name, field]));
  const rows = SETTINGS.map(([name, declared]) => {
    const { text = "", ifAbsent = "" } = docstrings.get(name) ?? {};
    return [code(name), ifAbsent.replaceAll('"', "`"), rangeOf(declared), firstSentence(text)];
  });
  return table(["setting", "default", "range", "meaning"], rows);
}

function rangeOf(declared: (typeof SETTINGS)[number][1]): string {
  switch (declared.kind) {
    case "word":
      return declared.words.map(code).join(", ");
    case "count":
      return `${number(declared.least)}–${number(declared.most)}`;
    case "duration":
      return `${seconds(declared.least)}–${seconds(declared.most)}`;
    case "own":
      return declared.range;
  }
}

/** Every option of a job. */
export function jobOptions(): string {
  const rows = OPTION_NAMES.map((name) => [code(name), optionRange(name), JOB_OPTIONS[name].description]);
  return table(["option", "range", "meaning"], rows);
}

function optionRange(name: (typeof OPTION_NAMES)[number]): string {
  const option = JOB_OPTIONS[name];
  switch (option.kind) {
    case "count":
      return `${option.least}–${option.most}`;
    case "duration":
      return `${"isLongerThan0" in option ? "more than " : ""}0–${seconds(option.most / 1000)}`;
    case "text":
      return `1–${TAG_BYTES} bytes of UTF-8 without control characters`;
    case "ascii":
      return `1–${GROUP_CHARS} printable ASCII characters without spaces`;
    case "headers":
      return `together at most ${HEADERS_BYTES / 1024} KiB as JSON`;
    case "url":
      return "[what a webhook may call](security.md)";
  }
}

function seconds(value: number): string {
  const [unit, size] = UNITS.find(([, size]) => value >= size && value % size === 0) ?? UNITS[3];
  const count = value / size;
  return `${number(count)} ${unit}${unit === "day" && count !== 1 ? "s" : ""}`;
}

function number(value: number): string {
  return value.toLocaleString("en");
}
