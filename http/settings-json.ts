import * as z from "zod/mini";
import type { TopicPolicy } from "../core/policy.ts";
import { SETTINGS, type SettingsWith } from "../core/topic-settings.ts";

/** The settings that are a word, a count or a duration, and that functions read. Who consumes may also be a webhook. */
type Plain = Exclude<SettingsWith<{ kind: "word" | "count" | "duration"; readBy: "functions" }>, "consumer">;
type Answered = {
  [Name in Plain]: undefined extends TopicPolicy[Name]
    ? z.ZodMiniExactOptional<z.ZodMiniType<NonNullable<TopicPolicy[Name]>>>
    : z.ZodMiniType<TopicPolicy[Name]>;
};

/** The fields of an answer that tells of a topic's settings, made from their declarations. Durations are seconds. */
export const answeredSettings = Object.fromEntries(
  SETTINGS.flatMap(([name, declared]) => {
    if (declared.kind === "own" || declared.readBy !== "functions" || name === "consumer") return [];
    // How often a job runs follows from the backoff.
    const isAlwaysThere = declared.ifAbsent !== undefined || name === "maxAttempts";
    const field = answered(declared);
    return [[name, isAlwaysThere ? field : z.exactOptional(field)]];
  }),
) as Answered;

function answered(declared: Exclude<(typeof SETTINGS)[number][1], { kind: "own" }>): z.ZodMiniType {
  switch (declared.kind) {
    case "word":
      return z.enum(declared.words);
    case "count":
      return z.int().check(z.minimum(0));
    case "duration":
      return z.number();
  }
}
