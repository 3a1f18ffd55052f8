import * as z from "zod/mini";

/**
 * Times are ISO 8601 in UTC with ms, and durations are seconds. An answer has no union of objects, because clients that generators make
 * in some languages take one such object for another without an error.
 */

export const time = z.iso.datetime({ precision: 3 });
/** The time of the server's clock at which it judged what it answers. A caller's clock may be off, and an answer may be old. */
export const at = time.check(
  z.meta({
    description: "When the answer was made, by the API's clock: `late` and `held` are of this time.",
  }),
);
export const count = z.int().check(z.minimum(0));
export const text = z.string();
export const status = z.int().check(z.minimum(100), z.maximum(599));

/** Of a job that a schedule has filed. */
export const ofSchedule = {
  schedule: z.exactOptional(
    text.check(
      z.meta({ description: "The name of the schedule that has filed the job. Absent from other jobs." }),
    ),
  ),
  scheduledFor: z.exactOptional(
    time.check(
      z.meta({
        description:
          "The time of the schedule's occurrence. It stays if the job is late, is moved or runs again. Absent if a call of `/run` has filed the job.",
      }),
    ),
  ),
};
