import { MinutehandError } from "../../../src/core/errors.ts";
import type { JobJson } from "../../../src/http/answers/jobs.ts";
import { jsonText } from "../direction.ts";
import { Attempts } from "../parts/attempts.tsx";
import { StateBadge } from "../parts/badge.tsx";
import { Copied } from "../parts/copied.tsx";
import { Facts } from "../parts/facts.tsx";
import { JobActions } from "../parts/job-actions.tsx";
import { LogPanel, type ReadLog, traceOf, useJobLog } from "../parts/job-log.tsx";
import { Life } from "../parts/life.tsx";
import { Loaded } from "../parts/loaded.tsx";
import { addresses } from "../parts/search.ts";
import { TextBlock } from "../parts/text-block.tsx";
import { Time } from "../parts/time.tsx";
import { Trace } from "../parts/trace.tsx";
import { NeverFiled, Why } from "../parts/why.tsx";
import { useJob, useTopics } from "../reads.ts";

export function JobView({ id = "" }: { id?: string }) {
  const job = useJob(id);
  // Whether the job is late or held, and what holds it, depends on its topic.
  useTopics();
  const isMissing = job.error instanceof MinutehandError && job.error.code === "job-not-found";
  return (
    <>
      <Loaded query={job} what={`the job ${id}`}>
        {(found) => <Found job={found} />}
      </Loaded>
      {isMissing && <NeverFiled />}
    </>
  );
}

function Found({ job }: { job: JobJson }) {
  const reading = useJobLog(job.id);
  return (
    <>
      <div class="job-head">
        <h1>
          {job.key ?? job.id} <StateBadge job={job} />
        </h1>
        <p class="quiet">
          A job of <a href={addresses.jobs({ topic: job.topic })}>{job.topic}</a>, due <Time at={job.dueAt} />
        </p>
        <Why job={job} />
      </div>
      <div class="job-actions">
        <JobActions job={job} />
      </div>
      <div class="job-parts">
        <div>
          <LastError job={job} reading={reading} />
          <Attempts job={job} />
          <LogPanel job={job} reading={reading} />
          <Timeline job={job} />
        </div>
        <aside>
          <section class="panel" aria-labelledby="body-title">
            <h2 id="body-title">Body</h2>
            <Copied name="body" text={jsonText(job.body, 2)} />
          </section>
          <div class="panel">
            <Facts fields={job} without={SEEN_ELSEWHERE} />
          </div>
        </aside>
      </div>
    </>
  );
}

function LastError({ job: { lastError }, reading }: { job: JobJson; reading: ReadLog }) {
  if (lastError === undefined) return null;
  const trace = traceOf(lastError, reading.log.data);
  return (
    <section class="panel job-error" aria-labelledby="error-title">
      <h2 id="error-title">Last error</h2>
      <TextBlock text={lastError} label="Text of the last error" />
      {trace !== undefined && (
        <>
          <h3>Stack trace</h3>
          <Trace text={trace} label="Stack trace of the last error" />
        </>
      )}
    </section>
  );
}

function Timeline({ job }: { job: JobJson }) {
  return (
    <section class="panel" aria-labelledby="life-title">
      <h2 id="life-title">Life</h2>
      {job.earlierEventsDropped === true && (
        <p class="quiet">
          Not all entries are kept: these are the first and the last {job.timeline.length - 1} of the
          timeline.
        </p>
      )}
      <Life job={job} />
    </section>
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
