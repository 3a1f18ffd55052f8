import type { JobSummary, TopicJson } from "../../src/http/answers.ts";

/** Jobs start some time after they are due: a consumer must first get the message. A job is late after this time, ms. */
export const LATE_MS = 5000;

export type Pause = NonNullable<TopicJson["pause"]>;

/** Whether a pause still holds jobs. The API calls a topic `resuming` for some minutes after its last job was released. */
export function isHolding(pause: Pause | undefined): pause is Pause {
  return pause !== undefined && (pause.state === "paused" || pause.parked > 0);
}

/** Needs the topic's pause, because the API answers a due job of a paused topic without a `heldUntil`. `now`: ms since the epoch. */
export function shownState(
  { state, dueAt, heldUntil }: Pick<JobSummary, "state" | "dueAt" | "heldUntil">,
  now: number,
  pause: Pause | undefined,
) {
  if (state !== "scheduled") return state;
  const start = Math.max(Date.parse(dueAt), heldUntil === undefined ? 0 : Date.parse(heldUntil));
  const isHeld = start > now ? heldUntil !== undefined && Date.parse(heldUntil) > now : isHolding(pause);
  if (isHeld) return "held";
  return start + LATE_MS < now ? "late" : state;
}
