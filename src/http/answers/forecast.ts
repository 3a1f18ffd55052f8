import * as z from "zod/mini";
import { answer } from "../named.ts";
import { STATES } from "./jobs.ts";
import { at, count, text, time } from "./values.ts";

const forecastCount = answer(
  "ForecastCount",
  z.object({
    from: time,
    topic: text,
    state: answer("ForecastState", z.enum([...STATES, "held", "late", "retrying"])),
    count,
  }),
);

export const forecast = answer(
  "Forecast",
  z.object({
    minutes: z
      .array(answer("ForecastMinute", z.object({ minute: time, count })))
      .check(z.meta({ description: "How many unfinished jobs fall due in each minute." })),
    counts: z.exactOptional(
      z.array(forecastCount).check(
        z.meta({
          description:
            "How many jobs of each topic and state are due in the step that begins at `from`. A waiting job is counted as `late`, `held` or `retrying` if it is, see `lateSince`, `held` and `retrying` of a job, else as `scheduled`. Only with `step`.",
        }),
      ),
    ),
    at,
    reached: time.check(z.meta({ description: "All jobs that are due before this time are counted." })),
    cursor: z.exactOptional(
      text.check(
        z.meta({ description: "The cursor of the next call. Absent when the forecast is complete." }),
      ),
    ),
    next: z.exactOptional(
      time.check(
        z.meta({
          description:
            "As `reached`, while there is a `cursor`. A caller without cursors can send it as the next `from`, unless it is the `from` of this call: then only the `cursor` leads on.",
        }),
      ),
    ),
  }),
);
export type ForecastJson = z.output<typeof forecast>;
