import { CALLBACK_URL_CHARS, HEADERS_BYTES } from "../../../src/core/constants.ts";
import { JOB_OPTIONS, type JobOption, OPTION_NAMES } from "../../../src/core/job-options.ts";
import { SETTINGS } from "../../../src/settings/topic-settings.ts";
import { documentedFields, firstSentence } from "../docstrings.ts";
import { code, table } from "../markdown.ts";
import { bytes, durationText, numberText } from "../units.ts";

export function topicSettings(): string {
  const file = new URL("../../../src/settings/topic-settings.ts", import.meta.url);
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
      return `${numberText(declared.least)}–${numberText(declared.most)}${"orFalse" in declared ? ", `false`" : ""}`;
    case "duration":
      return `${durationText(1000 * declared.least)}–${durationText(1000 * declared.most)}`;
    case "own":
      return declared.range;
  }
}

export function jobOptions(): string {
  const rows = OPTION_NAMES.map((name) => [code(name), optionRange(name), JOB_OPTIONS[name].description]);
  return table(["option", "range", "meaning"], rows);
}

function optionRange(name: JobOption): string {
  const option = JOB_OPTIONS[name];
  switch (option.kind) {
    case "count":
      return `${option.least}–${option.most}`;
    case "duration":
      return "isLongerThan0" in option
        ? `more than 0, at most ${durationText(option.most)}`
        : `0–${durationText(option.most)}`;
    case "text":
      return `1–${bytes(option.mostBytes)} of UTF-8 without control characters`;
    case "ascii":
      return `1–${option.mostChars} printable ASCII characters without spaces`;
    case "headers":
      return `together at most ${bytes(HEADERS_BYTES)} as JSON`;
    case "url":
      return `${numberText(CALLBACK_URL_CHARS)} characters, \`https:\`, no private address, no password`;
  }
}
