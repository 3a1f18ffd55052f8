import * as z from "zod/mini";
import { answer } from "../named.ts";
import { STATUS } from "../problem.ts";
import { count, status, text } from "./values.ts";

/**
 * An open list: a caller must take codes that it does not know, because a later version may have more. Generators make text of it, in
 * every language. Of a union of an `enum` and text they make types from which a caller cannot read the code in one step.
 */
const errorCode = answer(
  "ErrorCode",
  z.string().check(
    z.meta({
      description: `One of these codes, or a code of a later version: ${Object.keys(STATUS).join(", ")}.`,
      "x-extensible-enum": Object.keys(STATUS),
    }),
  ),
);

export const problem = answer(
  "Problem",
  z.looseObject({
    type: text,
    title: text,
    status,
    detail: text,
    code: errorCode,
    errors: z.exactOptional(
      z
        .array(answer("FieldError", z.object({ path: text, message: text })))
        .check(z.meta({ description: "The first ten rules that the request breaks." })),
    ),
    moreErrors: z.exactOptional(
      count.check(z.meta({ description: "How many more rules the request breaks than `errors` lists." })),
    ),
  }),
);
export type Problem = z.output<typeof problem>;
