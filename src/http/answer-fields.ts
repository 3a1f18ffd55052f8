import * as z from "zod/mini";

type Declared = { readonly kind: string; readonly words?: readonly string[] };

/** Durations are seconds. */
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
