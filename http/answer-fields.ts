import * as z from "zod/mini";

/** An option of a job or a setting of a topic, as `core/` declares it. */
type Declared = { readonly kind: string; readonly words?: readonly string[] };

/** The schema of a declared option or setting in an answer. Durations are seconds. */
export function answerFieldOf({ kind, words }: Declared): z.ZodMiniType {
  switch (kind) {
    case "headers":
      return z.record(z.string(), z.string());
    case "word":
      return z.enum(words ?? []);
    case "count":
      return z.int().check(z.minimum(0));
    case "duration":
      return z.number();
    default:
      return z.string();
  }
}
