import type { JobJson } from "../../../http/answers.ts";
import { api } from "../api.ts";
import { Action } from "../parts/action.tsx";
import { StateBadge } from "../parts/badge.tsx";
import { Loaded } from "../parts/loaded.tsx";
import { addresses } from "../parts/search.ts";
import { TextBlock } from "../parts/text-block.tsx";
import { Time } from "../parts/time.tsx";
import { useJob } from "../reads.ts";
import { durationText } from "../times.ts";

/** One job: its life, its body, its options and its last error, and what can be done with it. */
export function JobView({ id = "" }: { id?: string }) {
  const job = useJob(id);
  return (
    <Loaded query={job} what={`the job ${id}`}>
      {(found) => (
        <>
          <h1>
            {found.key ?? found.id} <StateBadge job={found} />
          </h1>
          <p class="quiet">
            <a href={addresses.jobs({ topic: found.topic })}>{found.topic}</a>, due <Time at={found.dueAt} />
          </p>
          <Actions job={found} />
          <Life job={found} />
          {found.lastError !== undefined && (
            <section aria-labelledby="error-title">
              <h2 id="error-title">Last error</h2>
              <TextBlock text={found.lastError} label="Last error" />
            </section>
          )}
          <section aria-labelledby="body-title">
            <h2 id="body-title">Body</h2>
            <TextBlock text={JSON.stringify(found.body, undefined, 2)} label="Body" />
          </section>
        </>
      )}
    </Loaded>
  );
}

function Actions({ job }: { job: JobJson }) {
  const isWaiting = job.state === "scheduled";
  const impossible = isWaiting ? undefined : `the job is ${job.state}`;
  return (
    <div class="buttons">
      <Action
        label="Cancel"
        title="Cancel this job?"
        confirm="Cancel the job"
        isDangerous
        impossible={impossible}
        run={async () => {
          await api.cancel(job.id);
          return `Cancelled ${job.key ?? job.id}. It will not run.`;
        }}
      >
        <p>
          <strong>{job.key ?? job.id}</strong> will not run. A cancelled job cannot be brought back; you can
          enqueue a new one.
        </p>
      </Action>
    </div>
  );
}

function Life({ job }: { job: JobJson }) {
  return (
    <section aria-labelledby="life-title">
      <h2 id="life-title">Life</h2>
      <ol class="life">
        {job.timeline.map(({ at, event, attempt, dueAt, lateness, error }) => (
          <li key={`${at} ${event}`}>
            <Time at={at} /> <strong>{event}</strong>
            {attempt !== undefined && ` attempt ${attempt}`}
            {lateness !== undefined && `, ${durationText(lateness * 1000)} late`}
            {dueAt !== undefined && (
              <>
                , due <Time at={dueAt} />
              </>
            )}
            {error !== undefined && <TextBlock text={error} label={`Error of attempt ${attempt}`} />}
          </li>
        ))}
      </ol>
    </section>
  );
}
