import { JOB_OPTIONS, type JobOption, OPTION_NAMES } from "../../src/core/job-options.ts";

/** The options of a job as the user writes them: each is a text, and an empty one is absent. */
export type OptionTexts = Readonly<Partial<Record<JobOption, string>>>;

export { JOB_OPTIONS, OPTION_NAMES };

export function labelOf(name: JobOption): string {
  const words = name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  const label = `${words.charAt(0).toUpperCase()}${words.slice(1)}`.replace("url", "URL");
  const { kind } = JOB_OPTIONS[name];
  if (kind === "duration") return `${label} (such as 90s or 7d)`;
  return kind === "headers" ? `${label} (one a line, such as x-shop: 17)` : label;
}

/** Reads the options for a call. The API checks them and names what is wrong with one. */
export function readOptions(texts: OptionTexts): Record<string, unknown> {
  return Object.fromEntries(
    OPTION_NAMES.flatMap((name) => {
      const text = texts[name]?.trim() ?? "";
      return text === "" ? [] : [[name, readOption(name, text)]];
    }),
  );
}

function readOption(name: JobOption, text: string): unknown {
  switch (JOB_OPTIONS[name].kind) {
    case "count":
      return numberOr(text);
    case "duration":
      return numberOr(text);
    case "headers":
      return Object.fromEntries(
        text.split("\n").map((line) => {
          const [header = "", ...value] = line.split(":");
          return [header.trim(), value.join(":").trim()];
        }),
      );
    default:
      return text;
  }
}

/** A text of digits is a number of seconds or a count. Every other text stays as it is. */
function numberOr(text: string): number | string {
  return /^\d+(?:\.\d+)?$/.test(text) ? Number(text) : text;
}

/** Writes the options of an answer as the texts of their fields. Durations of an answer are seconds. */
export function optionTexts(options: Readonly<Partial<Record<JobOption, unknown>>>): OptionTexts {
  return Object.fromEntries(
    OPTION_NAMES.flatMap((name) => {
      const value = options[name];
      if (value === undefined) return [];
      if (JOB_OPTIONS[name].kind !== "headers") return [[name, String(value)]];
      return [
        [
          name,
          Object.entries(value as object)
            .map((header) => header.join(": "))
            .join("\n"),
        ],
      ];
    }),
  );
}
