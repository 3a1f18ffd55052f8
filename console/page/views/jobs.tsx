import { useInfiniteQuery, useQuery } from "@tanstack/preact-query";
import { useCallback } from "preact/hooks";
import type { JobSummary } from "../../../http/answers.ts";
import { JobLine } from "../parts/job-line.tsx";
import { Empty, Loaded } from "../parts/loaded.tsx";
import { Rows } from "../parts/rows.tsx";
import { addresses, useSearch } from "../parts/search.ts";
import { findJobs, jobPage, useTopics } from "../reads.ts";

const STATES: readonly JobSummary["state"][] = [
  ...(["scheduled", "running", "done", "cancelled", "dead", "expired", "handed-off"] as const),
];

/** Jobs by topic, state, tag, group and due time, or the jobs that a search has found. */
export function JobsView() {
  const [query] = useSearch();
  return (
    <>
      <h1>Jobs</h1>
      {query.find ? <Found text={query.find} /> : <Selected />}
    </>
  );
}

function Found({ text }: { text: string }) {
  const found = useQuery({ queryKey: ["find", text], queryFn: ({ signal }) => findJobs(text, signal) });
  return (
    <Loaded query={found} what="the job">
      {(jobs) =>
        jobs.length === 0 ? (
          <Empty>
            <p>
              No job has the id or the key <code>{text}</code>. A search compares whole ids and keys. Jobs of
              untracked topics are not stored once they are handed over.{" "}
              <a href={addresses.jobs()}>Show the jobs that are due next</a>.
            </p>
          </Empty>
        ) : (
          <>
            <p>
              {jobs.length === 1 ? "1 job has" : `${jobs.length} jobs have`} the id or the key{" "}
              <code>{text}</code>.
            </p>
            <Rows rows={jobs} keyOf={({ id }) => id} height={44} label="Jobs found">
              {(job) => <JobLine job={job} />}
            </Rows>
          </>
        )
      }
    </Loaded>
  );
}

function Selected() {
  const [query] = useSearch();
  const { topic, state, tag, group, from, to } = query;
  const asked = { topic, state: state as JobSummary["state"] | undefined, tag, group, from, to };
  const pages = useInfiniteQuery({
    queryKey: ["jobs", asked],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) => jobPage(asked, pageParam, signal),
    getNextPageParam: ({ cursor }) => cursor,
  });
  const { fetchNextPage, hasNextPage, isFetchingNextPage } = pages;
  const readOn = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage]);
  return (
    <>
      <Filters />
      <Loaded query={pages} what="the jobs">
        {({ pages: read }) => {
          const jobs = read.flatMap((page) => page.jobs);
          return (
            <>
              <p role="status">
                {jobs.length.toLocaleString("en")} jobs read
                {hasNextPage ? "; scroll for more" : ", and there are no more in this range"}.
              </p>
              {jobs.length === 0 && !hasNextPage ? (
                <Empty>
                  <p>No job of this range matches. Choose another range, or fewer conditions.</p>
                </Empty>
              ) : (
                <Rows rows={jobs} keyOf={({ id }) => id} height={44} label="Jobs" onEnd={readOn}>
                  {(job) => <JobLine job={job} />}
                </Rows>
              )}
              {hasNextPage && (
                <button type="button" onClick={readOn} disabled={isFetchingNextPage}>
                  {isFetchingNextPage ? "Reading …" : "Read more jobs"}
                </button>
              )}
            </>
          );
        }}
      </Loaded>
    </>
  );
}

function Filters() {
  const [query, change] = useSearch();
  const topics = useTopics();
  return (
    <form class="filters" onSubmit={(event) => event.preventDefault()}>
      <label>
        Topic
        <select value={query.topic ?? ""} onChange={(event) => change({ topic: event.currentTarget.value })}>
          <option value="">all topics</option>
          {(topics.data ?? []).map(({ topic }) => (
            <option key={topic} value={topic}>
              {topic}
            </option>
          ))}
        </select>
      </label>
      <label>
        State
        <select value={query.state ?? ""} onChange={(event) => change({ state: event.currentTarget.value })}>
          <option value="">all states</option>
          {STATES.map((state) => (
            <option key={state} value={state}>
              {state}
            </option>
          ))}
        </select>
      </label>
      <label>
        Tag
        <input
          value={query.tag ?? ""}
          onChange={(event) => change({ tag: event.currentTarget.value.trim() })}
        />
      </label>
      <label>
        Group
        <input
          value={query.group ?? ""}
          onChange={(event) => change({ group: event.currentTarget.value.trim() })}
        />
      </label>
    </form>
  );
}
