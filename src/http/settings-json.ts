import * as z from "zod/mini";
import type { TopicPolicy } from "../settings/policy.ts";
import { SETTINGS, type SettingsWith } from "../settings/topic-settings.ts";
import { answerFieldOf } from "./answer-fields.ts";

/** `consumer` is not among them, because in an answer it can also be `webhook`. */
type Plain = Exclude<SettingsWith<{ kind: "word" | "count" | "duration"; readBy: "functions" }>, "consumer">;
type Answered = {
  [Name in Plain]: undefined extends TopicPolicy[Name]
    ? z.ZodMiniExactOptional<z.ZodMiniType<NonNullable<TopicPolicy[Name]>>>
    : z.ZodMiniType<TopicPolicy[Name]>;
};

/** Durations are seconds. */
export const answeredSettings = Object.fromEntries(
  SETTINGS.flatMap(([name, declared]) => {
    if (declared.kind === "own" || declared.readBy !== "functions" || name === "consumer") return [];
    // The default of `maxAttempts` follows from the backoff.
    const isAlwaysThere = declared.ifAbsent !== undefined || name === "maxAttempts";
    const field = answerFieldOf(name, declared);
    return [[name, isAlwaysThere ? field : z.exactOptional(field)]];
  }),
) as Answered;
