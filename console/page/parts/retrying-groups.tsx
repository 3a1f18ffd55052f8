import { useQuery } from "@tanstack/preact-query";
import type { JobSummary } from "../../../src/http/answers/jobs.ts";
import { refetchEvery } from "../api.ts";
import { jobsText } from "../bulk-calls.ts";
import { clock, queueTime } from "../clock.ts";
import { axisOf, groupByError, inOrder } from "../error-groups.ts";
import { everyByCount, useTopics } from "../reads.ts";
import { readRetrying } from "../retrying-jobs.ts";
import { now } from "../state.ts";
import { AsOf, ErrorGroupItem } from "./error-group.tsx";
import { JobLine } from "./job-line.tsx";
import { Loaded } from "./loaded.tsx";
import { Rows } from "./rows.tsx";
import { useSearch } from "./search.ts";
import { Time } from "./time.tsx";

export function RetryingOf({ topic }: { topic: string }) {
  const topics = useTopics();
  const retrying = useQuery({
    queryKey: ["retrying", topic],
    // The topic says how many jobs there are to be found.
    enabled: topics.data !== undefined,
    queryFn: ({ signal }) => readRetrying(topic, clock(), signal),
    refetchInterval: ({ state }) => refetchEvery(everyByCount(state.data?.jobs.length ?? 0))({ state }),
  });
  return (
    <Loaded query={retrying} what={`the retrying jobs of ${topic}`}>
      {({ jobs, until }) => (
        <>
          <p role="status">
            {jobs.length === 0 ? (
              <>
                No job of <strong>{topic}</strong> waits for a retry
              </>
            ) : (
              `${jobsText(jobs.length)} ${jobs.length === 1 ? "waits" : "wait"} for a retry`
            )}
            {until === undefined ? (
              "."
            ) : (
              <>
                {" "}
                until <Time at={until} show="time" />. Jobs that are due later were not read.
              </>
            )}
          </p>
          {jobs.length > 0 && <RetryingGroups jobs={jobs} readAt={queueTime(retrying.dataUpdatedAt)} />}
        </>
      )}
    </Loaded>
  );
}

type RetryingProps = { readonly jobs: readonly JobSummary[]; readonly readAt: number };

function RetryingGroups({ jobs, readAt }: RetryingProps) {
  const [{ order }] = useSearch();
  const groups = groupByError(jobs);
  const axis = axisOf(groups, now.value);
  return (
    <>
      <AsOf readAt={readAt} axis={axis} what="failed last" />
      <ul class="groups">
        {inOrder(groups, order).map((group) => (
          <ErrorGroupItem
            key={group.name}
            group={group}
            isOnly={groups.length === 1}
            those="those that wait now"
            axis={axis}
            more={<NextRetry jobs={group.jobs} />}
          >
            <Rows
              rows={group.jobs}
              keyOf={({ id }) => id}
              height={48}
              label={`Retrying jobs: ${group.title}`}
            >
              {(job) => <JobLine job={job} />}
            </Rows>
          </ErrorGroupItem>
        ))}
      </ul>
    </>
  );
}

function NextRetry({ jobs }: { jobs: readonly JobSummary[] }) {
  const next = Math.min(...jobs.map(({ dueAt }) => Date.parse(dueAt)));
  return (
    <span>
      next retry <Time at={next} show="distance" />
    </span>
  );
}
