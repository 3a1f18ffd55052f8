import type { JobSummary } from "../../http/answers.ts";

/** Jobs start some time after they are due: a consumer must first get the message. A job is late after this time, ms. */
export const LATE_MS = 5000;

/** The state that the page shows: a state that the API answers, `held` or `late`. `now`: ms since the epoch. */
export function shownState(
  { state, dueAt, heldUntil }: Pick<JobSummary, "state" | "dueAt" | "heldUntil">,
  now: number,
) {
  if (state !== "scheduled") return state;
  if (heldUntil !== undefined && Date.parse(heldUntil) > now) return "held";
  const start = Math.max(Date.parse(dueAt), heldUntil === undefined ? 0 : Date.parse(heldUntil));
  return start + LATE_MS < now ? "late" : state;
}
