import * as z from "zod/mini";
import { CALLBACK_URL_CHARS, DAY, LONGEST_DELAY } from "../core/constants.ts";
import {
  JOB_OPTIONS,
  type JobOption,
  type JobOptions,
  KEPT_OPTIONS,
  type KeptOptions,
  OPTION_NAMES,
} from "../core/job-options.ts";
import { answerFieldOf } from "./answer-fields.ts";
import {
  duration,
  headers,
  longDuration,
  matching,
  plainText,
  shortDuration,
  wholeNumber,
} from "./fields.ts";

/** Made from the declarations in `src/core/job-options.ts`. In requests parsed durations are ms, in answers they are seconds. */

type Fields<Options> = {
  [Name in keyof Options]-?: z.ZodMiniExactOptional<z.ZodMiniType<NonNullable<Options[Name]>>>;
};

export const requestedOptions = fieldsOf(OPTION_NAMES, requestField) as Fields<JobOptions>;

export const filters = { tag: requestedOptions.tag, group: requestedOptions.group };

export const answeredOptions = fieldsOf(KEPT_OPTIONS, answerField) as Fields<KeptOptions>;

export const answeredScheduleOptions = fieldsOf(OPTION_NAMES, answerField) as Fields<JobOptions>;

function fieldsOf(names: readonly JobOption[], fieldOf: (name: JobOption) => z.ZodMiniType): object {
  return Object.fromEntries(names.map((name) => [name, z.exactOptional(fieldOf(name))]));
}

function requestField(name: JobOption): z.ZodMiniType {
  const option = JOB_OPTIONS[name];
  const schema = schemaOf(option);
  // The document names the schemas of durations, and these say their own ranges.
  const range = option.kind === "duration" ? undefined : z.globalRegistry.get(schema)?.description;
  const description = [option.description, range].filter((text) => text !== undefined).join(" ");
  return schema.check(z.meta({ description }));
}

function schemaOf(option: (typeof JOB_OPTIONS)[JobOption]): z.ZodMiniType {
  switch (option.kind) {
    case "url":
      // The topic decides which URLs are allowed, in `newJobOf`.
      return z
        .string({ error: "must be a URL" })
        .check(z.meta({ description: `At most ${CALLBACK_URL_CHARS} characters.` }));
    case "headers":
      return headers;
    case "text":
      return plainText(option.mostBytes);
    case "ascii":
      return matching(
        new RegExp(`^[!-~]{1,${option.mostChars}}$`),
        `must be 1 to ${option.mostChars} ASCII letters, digits or punctuation`,
      );
    case "count":
      return wholeNumber(option.least, option.most);
    case "duration":
      if (option.most === DAY) return shortDuration;
      if (option.most !== LONGEST_DELAY) throw new Error(`fields.ts has no duration up to ${option.most} ms`);
      return "isLongerThan0" in option ? longDuration : duration;
  }
}

function answerField(name: JobOption): z.ZodMiniType {
  return answerFieldOf(name, JOB_OPTIONS[name]);
}
