import * as z from "zod/mini";
import { answeredScheduleOptions } from "../job-options.ts";
import { answer } from "../named.ts";
import { text, time } from "./values.ts";

const scheduleSummary = answer(
  "ScheduleSummary",
  z.object({
    name: text,
    expression: text,
    timezone: text,
    start: z.exactOptional(time),
    end: z.exactOptional(time),
    flexibleWindow: z.exactOptional(z.number()),
    topic: text,
    ...answeredScheduleOptions,
    paused: z.boolean(),
    createdAt: time,
    declared: z.exactOptional(
      text.check(
        z.meta({
          description:
            "The path of the construct that declares the schedule. Only a deployment of that stack changes or deletes it.",
        }),
      ),
    ),
    next: z.array(time).check(
      z.meta({
        description: "The next five occurrences. While the schedule is paused, they file no jobs.",
      }),
    ),
  }),
);
export type ScheduleSummary = z.output<typeof scheduleSummary>;

export const schedule = answer(
  "Schedule",
  z.extend(scheduleSummary, {
    body: z.unknown(),
    skippedInPause: z.exactOptional(
      z.number().check(
        z.meta({
          description:
            "Only in the answer of a call that has ended a pause: how many occurrences came since the schedule was paused, or last replaced in its pause. They filed no jobs. `1000` means 1,000 or more.",
        }),
      ),
    ),
  }),
);
export type ScheduleJson = z.output<typeof schedule>;

export const schedulePage = answer(
  "SchedulePage",
  z.object({ schedules: z.array(scheduleSummary), cursor: z.exactOptional(text) }),
);
