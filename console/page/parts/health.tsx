import { queueTime } from "../clock.ts";
import { useFrameHistory } from "../history-reads.ts";
import { needsOf } from "../needs.ts";
import { useSchedules, useTopics } from "../reads.ts";
import { now, zone } from "../state.ts";
import { MINUTE, timeText } from "../times.ts";
import { addresses } from "./search.ts";

/** Says on every view whether the queue needs a person. Leads to the overview, which says why. */
export function Health() {
  const { severity, text } = useHealth();
  return (
    <a class={`health ${severity}`} href={addresses.overview} title={text}>
      <span class={`dot ${severity}`} aria-hidden="true" />
      <span class="health-text">{text}</span>
    </a>
  );
}

function useHealth(): { severity: "good" | "warn" | "bad" | "unknown"; text: string } {
  const topics = useTopics();
  const schedules = useSchedules(MINUTE);
  const history = useFrameHistory();
  if (topics.data === undefined)
    return { severity: "unknown", text: topics.error ? "Not read" : "Reading …" };
  // What was read last says nothing about the present, so it is not called good or bad.
  if (topics.error ?? topics.failureReason) {
    return {
      severity: "unknown",
      text: `No answer since ${timeText(queueTime(topics.dataUpdatedAt), now.value, zone.value)}`,
    };
  }
  const needs = needsOf(topics.data, schedules.data ?? [], history.data);
  if (needs.length === 0) return { severity: "good", text: "All is calm" };
  const severity = needs.some((need) => need.severity === "bad") ? "bad" : "warn";
  return { severity, text: needs.length === 1 ? "1 needs you" : `${needs.length} need you` };
}
