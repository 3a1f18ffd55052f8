import type { JobSummary } from "../../../src/http/answers/jobs.ts";
import { shownState } from "../shown-state.ts";
import { WORDS } from "../words.ts";

/** The mark of each state. Each state has a mark of its own, because not everybody sees colours. */
const MARKS: Readonly<Record<JobSummary["state"], string>> = {
  scheduled: "○",
  running: "▶",
  done: "✓",
  cancelled: "–",
  dead: "✕",
  expired: "⌛",
  "handed-off": "→",
};

export function StateBadge({ job }: { job: Pick<JobSummary, "state" | "held" | "lateSince"> }) {
  const name = shownState(job);
  return (
    <span class={`badge ${name}`} title={WORDS[name]}>
      <span aria-hidden="true">{MARKS[job.state]}</span> {name}
    </span>
  );
}
