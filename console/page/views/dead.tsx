import { useQuery } from "@tanstack/preact-query";
import type { JobSummary } from "../../../src/http/answers/jobs.ts";
import { api, REFRESH_MS, refetchEvery } from "../api.ts";
import { groupByError } from "../error-groups.ts";
import { choose, chosenIds, DeadGroup } from "../parts/dead-group.tsx";
import { Empty, Loaded } from "../parts/loaded.tsx";
import { RedriveAll, RedriveChosen } from "../parts/redrive.tsx";
import { addresses, useSearch } from "../parts/search.ts";
import { Time } from "../parts/time.tsx";
import { TopicField } from "../parts/topic-field.tsx";
import { firstOf, useTopics } from "../reads.ts";

export function DeadView() {
  const [{ topic = "" }, change] = useSearch();
  return (
    <>
      <h1>Dead jobs</h1>
      <div class="filters">
        <TopicField
          value={topic}
          none="choose a topic"
          onChange={(name) => change({ topic: name, open: undefined })}
        />
      </div>
      {topic === "" ? <AllTopics /> : <DeadOf key={topic} topic={topic} />}
    </>
  );
}

function AllTopics() {
  const topics = useTopics();
  return (
    <Loaded query={topics} what="the topics">
      {(found) => {
        const dead = found.filter(({ depths }) => depths.dead > 0);
        if (dead.length === 0) {
          return (
            <Empty>
              <p>
                No job is dead. A job is dead when all of its attempts have failed, or when its consumer gave
                it up.
              </p>
            </Empty>
          );
        }
        return (
          <ul class="links">
            {dead.map(({ topic, depths }) => (
              <li key={topic}>
                <a href={addresses.dead({ topic })} data-line>
                  {topic}: {depths.dead.toLocaleString("en")} dead
                </a>
              </li>
            ))}
          </ul>
        );
      }}
    </Loaded>
  );
}

/** So many dead jobs are read and grouped. An action on all of them does not depend on this number. */
const READ_JOBS = 2000;

/** More dead jobs are read less often. */
const OFTEN_READ_JOBS = 200;

function DeadOf({ topic }: { topic: string }) {
  const dead = useQuery({
    queryKey: ["dead", topic],
    queryFn: ({ signal }) => firstOf(api.dead(topic, { signal, pageSize: 1000 }), READ_JOBS),
    refetchInterval: ({ state }) =>
      refetchEvery((state.data?.length ?? 0) <= OFTEN_READ_JOBS ? Math.max(REFRESH_MS, 5000) : 30_000)({
        state,
      }),
  });
  return (
    <Loaded query={dead} what={`the dead jobs of ${topic}`}>
      {(jobs) =>
        jobs.length === 0 ? (
          <Empty>
            <p>
              No job of <strong>{topic}</strong> is dead.
            </p>
          </Empty>
        ) : (
          <DeadJobs topic={topic} jobs={jobs} readAt={dead.dataUpdatedAt} />
        )
      }
    </Loaded>
  );
}

type DeadJobsProps = {
  readonly topic: string;
  readonly jobs: readonly JobSummary[];
  /** ms since the epoch. */
  readonly readAt: number;
};

function DeadJobs({ topic, jobs, readAt }: DeadJobsProps) {
  const chosen = chosenIds.value;
  const ids = jobs.flatMap(({ id }) => (chosen.has(id) ? [id] : []));
  const groups = groupByError(jobs);
  const chosenGroups = groups.filter((group) => group.jobs.some(({ id }) => chosen.has(id)));
  return (
    <>
      <p role="status">
        {jobs.length >= READ_JOBS
          ? `The oldest ${READ_JOBS.toLocaleString("en")} dead jobs are grouped here; there are more.`
          : `${jobs.length.toLocaleString("en")} dead jobs, grouped by error.`}{" "}
        {ids.length > 0 && `${ids.length.toLocaleString("en")} are chosen.`}
      </p>
      <p class="quiet">
        As of <Time at={readAt} show="time" />.
      </p>
      <div class="buttons">
        <RedriveChosen
          topic={topic}
          ids={ids}
          errors={chosenGroups.map(({ name }) => name)}
          onDone={() => choose(new Set())}
        />
        <RedriveAll topic={topic} errors={groups.map(({ name }) => name)} />
      </div>
      <ul class="groups">
        {groups.map((group) => (
          <DeadGroup key={group.name} topic={topic} group={group} chosen={chosen} />
        ))}
      </ul>
    </>
  );
}
