import * as z from "zod/mini";
import { CALLBACK_URL_CHARS } from "../core/constants.ts";
import {
  JOB_OPTIONS,
  type JobOption,
  type JobOptions,
  KEPT_OPTIONS,
  type KeptOptions,
  OPTION_NAMES,
} from "../core/job-options.ts";
import { durationUpTo, headers, longerThan0, matching, plainText, wholeNumber } from "./fields.ts";

/** A job's options as requests say and answers tell them, made from their declarations. */

type Fields<Options> = {
  [Name in keyof Options]-?: z.ZodMiniExactOptional<z.ZodMiniType<NonNullable<Options[Name]>>>;
};

/** The fields of a request that files a job. What they read is what the protocol takes: durations are ms. */
export const requestedOptions = fieldsOf(OPTION_NAMES, requested) as Fields<JobOptions>;

/** The fields of an answer that tells of a stored job. Durations are seconds. */
export const answeredOptions = fieldsOf(KEPT_OPTIONS, answered) as Fields<KeptOptions>;

/** The fields of an answer that tells of a schedule's jobs. Durations are seconds. */
export const answeredScheduleOptions = fieldsOf(OPTION_NAMES, answered) as Fields<JobOptions>;

/** Options as answers tell them. */
export function answerOf<Options extends JobOptions>(options: Options): Options {
  const told = Object.entries(options).map(([name, value]) => {
    const isDuration = JOB_OPTIONS[name as JobOption].kind === "duration";
    return [name, isDuration ? Number(value) / 1000 : value];
  });
  return Object.fromEntries(told);
}

function fieldsOf(names: readonly JobOption[], fieldOf: (name: JobOption) => z.ZodMiniType): object {
  return Object.fromEntries(names.map((name) => [name, z.exactOptional(fieldOf(name))]));
}

function requested(name: JobOption): z.ZodMiniType {
  const option = JOB_OPTIONS[name];
  const schema = schemaOf(option);
  const range = z.globalRegistry.get(schema)?.description;
  const description = [option.description, range].filter((text) => text !== undefined).join(" ");
  return schema.check(z.meta({ description }));
}

function schemaOf(option: (typeof JOB_OPTIONS)[JobOption]): z.ZodMiniType {
  switch (option.kind) {
    case "url":
      // Whether the URL may be called is known when the topic is.
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
      return "isLongerThan0" in option ? longerThan0(option.most) : durationUpTo(option.most);
  }
}

function answered(name: JobOption): z.ZodMiniType {
  switch (JOB_OPTIONS[name].kind) {
    case "headers":
      return z.record(z.string(), z.string());
    case "count":
      return z.int().check(z.minimum(0));
    case "duration":
      return z.number();
    default:
      return z.string();
  }
}
