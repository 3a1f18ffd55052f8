import type { JobJson } from "../../../src/http/answers/jobs.ts";
import { jsonText } from "../direction.ts";
import { logLink } from "../log-link.ts";
import { StateBadge } from "../parts/badge.tsx";
import { Copied } from "../parts/copied.tsx";
import { Facts } from "../parts/facts.tsx";
import { JobActions } from "../parts/job-actions.tsx";
import { Life } from "../parts/life.tsx";
import { Loaded } from "../parts/loaded.tsx";
import { addresses } from "../parts/search.ts";
import { TextBlock } from "../parts/text-block.tsx";
import { Time } from "../parts/time.tsx";
import { useJob, useTopics } from "../reads.ts";
import { about } from "../server.ts";

export function JobView({ id = "" }: { id?: string }) {
  const job = useJob(id);
  // Whether the job is late or held depends on its topic's pause.
  useTopics();
  return (
    <Loaded query={job} what={`the job ${id}`}>
      {(found) => <Found job={found} />}
    </Loaded>
  );
}

function Found({ job }: { job: JobJson }) {
  return (
    <>
      <h1>
        {job.key ?? job.id} <StateBadge job={job} />
      </h1>
      <p class="quiet">
        A job of <a href={addresses.jobs({ topic: job.topic })}>{job.topic}</a>, due <Time at={job.dueAt} />
      </p>
      <JobActions job={job} />
      <div class="columns">
        <div>
          {job.lastError !== undefined && (
            <section aria-labelledby="error-title">
              <h2 id="error-title">Last error</h2>
              <TextBlock text={job.lastError} label="Text of the last error" />
            </section>
          )}
          <section aria-labelledby="life-title">
            <h2 id="life-title">Life</h2>
            <LogLinks job={job} />
            {job.earlierEventsDropped === true && (
              <p class="quiet">
                Older events are not stored any more: only the last {job.timeline.length} are kept.
              </p>
            )}
            <Life job={job} />
          </section>
        </div>
        <div>
          <section aria-labelledby="body-title">
            <h2 id="body-title">Body</h2>
            <Copied name="body" text={jsonText(job.body, 2)} />
          </section>
          <Facts fields={job} without={SEEN_ELSEWHERE} />
        </div>
      </div>
    </>
  );
}

function LogLinks({ job: { id, logUrl } }: { job: JobJson }) {
  const log = logLink(logUrl);
  return (
    <p>
      {log !== undefined && (
        <a href={log} target="_blank" rel="noreferrer">
          Open the log of this job in CloudWatch
        </a>
      )}
      {about.hasLive && <a href={addresses.live({ job: id })}>Show the lines of this job in the live log</a>}
    </p>
  );
}

const SEEN_ELSEWHERE = [
  "topic",
  "state",
  "body",
  "timeline",
  "earlierEventsDropped",
  "lastError",
  "logUrl",
  "dueAt",
];
