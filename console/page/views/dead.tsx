import { useQuery } from "@tanstack/preact-query";
import { useState } from "preact/hooks";
import type { JobSummary } from "../../../src/http/answers/jobs.ts";
import type { TopicJson } from "../../../src/http/answers/topics.ts";
import { api, refetchEvery } from "../api.ts";
import { jobsText } from "../bulk-calls.ts";
import { queueTime } from "../clock.ts";
import { axisOf, groupByError, inOrder } from "../error-groups.ts";
import { newestErrorText } from "../needs.ts";
import { DeadErrors } from "../parts/dead-errors.tsx";
import { choose, chosenIds, DeadGroup } from "../parts/dead-group.tsx";
import { AsOf, GroupOrder } from "../parts/error-group.tsx";
import { Empty, Loaded } from "../parts/loaded.tsx";
import { DismissAll, DismissChosen, RedriveAll, RedriveChosen } from "../parts/redrive.tsx";
import { RetryingOf } from "../parts/retrying-groups.tsx";
import { addresses, useSearch } from "../parts/search.ts";
import { TopicField } from "../parts/topic-field.tsx";
import { everyByCount, firstOf, type Topic, useTopic, useTopics } from "../reads.ts";
import { now } from "../state.ts";

export function DeadView() {
  const [{ topic = "", of }] = useSearch();
  const isRetrying = of === "retrying";
  return (
    <>
      <h1>{isRetrying ? "Retrying jobs" : "Dead jobs"}</h1>
      <DeadFilters />
      {topic === "" ? (
        <AllTopics isRetrying={isRetrying} />
      ) : isRetrying ? (
        <RetryingOf key={topic} topic={topic} />
      ) : (
        <DeadOf key={topic} topic={topic} />
      )}
    </>
  );
}

function DeadFilters() {
  const [{ topic = "", of }, change] = useSearch();
  const isRetrying = of === "retrying";
  return (
    <div class="filters dead-filters">
      <fieldset class="switch">
        <legend class="hidden">Which failed jobs</legend>
        <button
          type="button"
          aria-pressed={!isRetrying}
          onClick={() => change({ of: undefined, open: undefined })}
        >
          Dead
        </button>
        <button
          type="button"
          aria-pressed={isRetrying}
          onClick={() => change({ of: "retrying", open: undefined })}
        >
          Retrying
        </button>
      </fieldset>
      <TopicField
        value={topic}
        none="choose a topic"
        onChange={(name) => change({ topic: name, open: undefined })}
      />
      {topic !== "" && <GroupOrder />}
    </div>
  );
}

function AllTopics({ isRetrying }: { isRetrying: boolean }) {
  const topics = useTopics();
  return (
    <Loaded query={topics} what="the topics">
      {(found) => {
        const failing = found.filter((topic) => countOf(topic, isRetrying).count > 0);
        if (failing.length === 0) return <NoneFailing isRetrying={isRetrying} />;
        return (
          <ul class="links">
            {failing.map((topic) => (
              <li key={topic.topic}>
                <a
                  href={addresses.dead({ topic: topic.topic, ...(isRetrying && { of: "retrying" }) })}
                  data-line
                >
                  {topic.topic}: {countText(topic, isRetrying)}
                </a>
                {isRetrying ? <NewestError topic={topic} /> : <DeadErrors topic={topic} hasTimes />}
              </li>
            ))}
          </ul>
        );
      }}
    </Loaded>
  );
}

function NewestError({ topic: { retrying } }: { topic: TopicJson }) {
  const { error, failedAt } = retrying;
  return error === undefined ? null : <p class="quiet">{newestErrorText(error, failedAt)}</p>;
}

function countOf({ dead, retrying }: Topic, isRetrying: boolean) {
  return isRetrying ? retrying : dead;
}

function countText(topic: Topic, isRetrying: boolean): string {
  const { count, atLeast } = countOf(topic, isRetrying);
  return `${count.toLocaleString("en")}${atLeast ? " or more" : ""} ${isRetrying ? "retrying" : "dead"}`;
}

function NoneFailing({ isRetrying }: { isRetrying: boolean }) {
  return (
    <Empty>
      <p>
        {isRetrying
          ? "No job waits for a retry. A job is retrying if its last attempt has failed and the next one is not due yet."
          : "No job is dead. A job is dead when all of its attempts have failed, or when its consumer gave it up."}
      </p>
    </Empty>
  );
}

/** So many dead jobs are read and grouped. An action on all of them does not depend on this number. */
const READ_JOBS = 2000;
const MORE_JOBS = 20_000;

function DeadOf({ topic }: { topic: string }) {
  const [most, setMost] = useState(READ_JOBS);
  const dead = useQuery({
    queryKey: ["dead", topic, most],
    queryFn: ({ signal }) => firstOf(api.dead(topic, { signal, pageSize: 1000 }), most),
    // The groups stay while more jobs are read.
    placeholderData: (before) => before,
    refetchInterval: ({ state }) => refetchEvery(everyByCount(state.data?.length ?? 0))({ state }),
  });
  const { isPlaceholderData } = dead;
  return (
    <Loaded query={dead} what={`the dead jobs of ${topic}`}>
      {(jobs) =>
        jobs.length === 0 ? (
          <NoneDead topic={topic} />
        ) : (
          <DeadJobs
            topic={topic}
            jobs={jobs}
            isPart={jobs.length >= most || isPlaceholderData}
            readMore={most === READ_JOBS ? () => setMost(MORE_JOBS) : undefined}
            readAt={isPlaceholderData ? undefined : queueTime(dead.dataUpdatedAt)}
          />
        )
      }
    </Loaded>
  );
}

function NoneDead({ topic }: { topic: string }) {
  const { count = 0, atLeast } = useTopic(topic)?.retrying ?? {};
  return (
    <Empty>
      <p>
        No job of <strong>{topic}</strong> is dead.{" "}
        {count > 0 && (
          <a href={addresses.dead({ topic, of: "retrying" })}>
            {jobsText(count, atLeast)} {count === 1 ? "waits" : "wait"} for a retry
          </a>
        )}
      </p>
    </Empty>
  );
}

type DeadJobsProps = {
  readonly topic: string;
  readonly jobs: readonly JobSummary[];
  /** Whether there are newer dead jobs, which were not read. */
  readonly isPart: boolean;
  readonly readMore: (() => void) | undefined;
  /** The queue's time, ms since the epoch. `undefined`: others are being read. */
  readonly readAt: number | undefined;
};

function DeadJobs({ topic, jobs, isPart, readMore, readAt }: DeadJobsProps) {
  const [{ order }] = useSearch();
  const chosen = chosenIds.value;
  const chosenJobs = jobs.filter(({ id }) => chosen.has(id));
  const groups = groupByError(jobs);
  const axis = axisOf(groups, now.value);
  const chosenGroups = groups.filter((group) => group.jobs.some(({ id }) => chosen.has(id)));
  return (
    <>
      <DeadStatus count={jobs.length} chosen={chosenJobs.length} isPart={isPart} readMore={readMore} />
      <AsOf readAt={readAt} axis={axis} what="died" />
      <div class="buttons">
        <RedriveChosen
          topic={topic}
          jobs={chosenJobs}
          errors={chosenGroups.map(({ title }) => title)}
          onDone={() => choose(new Set())}
        />
        <DismissChosen topic={topic} jobs={chosenJobs} onDone={() => choose(new Set())} />
        <RedriveAll topic={topic} errors={groups.map(({ title }) => title)} />
        <DismissAll topic={topic} />
      </div>
      <ul class="groups">
        {inOrder(groups, order).map((group) => (
          <DeadGroup
            key={group.name}
            topic={topic}
            group={group}
            isOnly={groups.length === 1}
            axis={axis}
            chosen={chosen}
            isPart={isPart}
          />
        ))}
      </ul>
    </>
  );
}

type StatusProps = Pick<DeadJobsProps, "isPart" | "readMore"> & {
  readonly count: number;
  readonly chosen: number;
};

function DeadStatus({ count, chosen, isPart, readMore }: StatusProps) {
  const jobs = count.toLocaleString("en");
  return (
    <>
      <p role="status">
        {isPart
          ? `The oldest ${jobs} dead jobs are grouped here; there are more.`
          : `${jobs} dead ${count === 1 ? "job" : "jobs"}, grouped by error.`}{" "}
        {chosen > 0 && `${chosen.toLocaleString("en")} ${chosen === 1 ? "is" : "are"} chosen.`}
      </p>
      {isPart && (
        <p>
          Newer jobs were not read, so the times of the groups do not say what happens now.{" "}
          {readMore && (
            <button type="button" onClick={readMore}>
              Read up to {MORE_JOBS.toLocaleString("en")}
            </button>
          )}
        </p>
      )}
    </>
  );
}
