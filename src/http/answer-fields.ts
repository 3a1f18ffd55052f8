import * as z from "zod/mini";
import { answer } from "./named.ts";

type Declared = { readonly kind: string; readonly words?: readonly string[] };

/** Durations are seconds. The document names the words of a field by the field. */
export function answerFieldOf(name: string, { kind, words }: Declared): z.ZodMiniType {
  switch (kind) {
    case "headers":
      return z.record(z.string(), z.string());
    case "word":
      return answer(`${name[0]?.toUpperCase()}${name.slice(1)}`, z.enum(words ?? []));
    case "count":
      return z.int().check(z.minimum(0));
    case "duration":
      return z.number();
    default:
      return z.string();
  }
}
