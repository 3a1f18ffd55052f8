import type { JobSummary } from "../../../src/http/answers/jobs.ts";
import { withVisibleMarks } from "../direction.ts";
import { topicOf } from "../reads.ts";
import { StateBadge } from "./badge.tsx";
import { addresses } from "./search.ts";
import { Time } from "./time.tsx";

export function JobLine({ job }: { job: JobSummary }) {
  const { id, key, topic, dueAt, heldUntil, attempt, maxAttempts, lastError, tag, group } = job;
  // Each view reads the topics for its frame, so this needs no call.
  const isPaused = job.state === "scheduled" && !job.held && topicOf(topic)?.pause?.state === "paused";
  const more = [
    isPaused && "topic paused",
    attempt > 0 && `attempt ${attempt} of ${maxAttempts}`,
    tag !== undefined && `tag ${tag}`,
    group !== undefined && `group ${group}`,
    lastError,
  ]
    .filter((part) => typeof part === "string")
    .map(withVisibleMarks)
    .join(" · ");
  const isHeld = job.state === "scheduled" && heldUntil !== undefined && heldUntil > dueAt;
  return (
    <a class="job-line" href={addresses.job(id)} data-line>
      <StateBadge job={job} />
      <span class="job-name" title={key ?? id}>
        <strong>{key ?? id}</strong>
      </span>{" "}
      <span class="job-topic quiet">{topic}</span>
      <span class="job-time">
        <Time at={isHeld ? heldUntil : dueAt} />
      </span>
      <span class="job-more quiet" title={more}>
        {more}
      </span>
    </a>
  );
}
