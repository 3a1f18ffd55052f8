import type { JobSummary } from "../../../src/http/answers/jobs.ts";
import { jobsText } from "../bulk-calls.ts";
import { queueTime } from "../clock.ts";
import { type JobPages, REFRESHED_PAGES, useJobPages } from "../job-pages.ts";
import { Bulks, listedRange } from "../parts/job-bulks.tsx";
import { aroundNow, Filters, JOB_STATES, SEEN_STATES } from "../parts/job-filters.tsx";
import { JobLine } from "../parts/job-line.tsx";
import { Empty, Loaded } from "../parts/loaded.tsx";
import { Rows } from "../parts/rows.tsx";
import { SchedulesAhead } from "../parts/schedules-ahead.tsx";
import { addresses, useSearch } from "../parts/search.ts";
import { Time } from "../parts/time.tsx";
import { WordList } from "../parts/words.tsx";
import { Found } from "./found.tsx";

const SHOWN_STATES = [...JOB_STATES, ...SEEN_STATES] as const;

export function JobsView() {
  const [query] = useSearch();
  if (query.find) return <Found text={query.find} />;
  return (
    <>
      <h1>Jobs</h1>
      <Selected />
    </>
  );
}

function Selected() {
  const [{ topic, state, tag, group, from, to }] = useSearch();
  const seen = SEEN_STATES.find((name) => name === state);
  const stored = seen === undefined ? (state as JobSummary["state"] | undefined) : "scheduled";
  const asked = { topic, state: stored, tag, group, from, to };
  const listed = useJobPages(asked, seen);
  const { pages, jobs, isMore } = listed;
  return (
    <>
      <Filters />
      <Loaded query={pages} what="the jobs">
        {({ pages: read }) => (
          <>
            <Status listed={listed} pageCount={read.length} seen={seen} />
            <SchedulesAhead />
            <div class={pages.isPlaceholderData || listed.isOld ? "dimmed" : undefined}>
              {jobs.length === 0 && !isMore ? (
                <NoJobs isReading={pages.isPlaceholderData} />
              ) : (
                <Rows rows={jobs} keyOf={({ id }) => id} height={44} label="Jobs" onEnd={listed.readOn}>
                  {(job) => <JobLine job={job} />}
                </Rows>
              )}
            </div>
            {isMore && (
              <div class="buttons">
                <button type="button" onClick={listed.readOnOrStop}>
                  {pages.isFetchingNextPage ? "Reading … Stop after this page" : "Read more jobs"}
                </button>
              </div>
            )}
          </>
        )}
      </Loaded>
      <Bulks selection={asked} />
      <WordList words={SHOWN_STATES} />
    </>
  );
}

type StatusProps = {
  readonly listed: JobPages;
  readonly pageCount: number;
  readonly seen: (typeof SEEN_STATES)[number] | undefined;
};

function Status({ listed, pageCount, seen }: StatusProps) {
  const { pages, jobs, lookedAt, isOld, readAgain } = listed;
  const [query] = useSearch();
  const { from, to } = query;
  const { hasNextPage, isPlaceholderData } = pages;
  return (
    <p role="status">
      {isPlaceholderData ? (
        "Reading the jobs …"
      ) : (
        <>
          {countText(jobs.length, hasNextPage)} <RangeText from={from} to={to} />
          {seen === undefined ? statesText(jobs) : seenText(seen, jobs.length, lookedAt)}
          {hasNextPage && restText(pageCount, pages.isFetchingNextPage)}.{isOld && " Reading again …"}
        </>
      )}
      {!from && !to && (
        <>
          {" "}
          <a href={addresses.jobs({ ...query, ...aroundNow() })}>Show the jobs of the last hour too</a>
        </>
      )}
      {pageCount > REFRESHED_PAGES && !isPlaceholderData && (
        <>
          {" "}
          As of <Time at={queueTime(pages.dataUpdatedAt)} show="time" />.{" "}
          <button type="button" onClick={readAgain}>
            Read again
          </button>
        </>
      )}
    </p>
  );
}

function restText(pageCount: number, isReading: boolean): string {
  const pages = pageCount === 1 ? "1 page" : `${pageCount} pages`;
  return `, from ${pages}; the rest of the range is ${isReading ? "being read" : "not read yet"}`;
}

function NoJobs({ isReading }: { isReading: boolean }) {
  const [{ from, to, tag, group }] = useSearch();
  return (
    <Empty>
      <p>
        {isReading ? (
          "Reading the jobs …"
        ) : (
          <>
            No job <RangeText from={from} to={to} /> matches. Choose another range, or fewer conditions.
            {(tag || group) &&
              " A tag or a group must be written in full. For a part of it, press / and search."}
          </>
        )}
      </p>
    </Empty>
  );
}

/** While the range is still read, there may be jobs although none is found yet. */
function countText(count: number, isIncomplete: boolean): string {
  if (count === 0 && isIncomplete) return "No job yet";
  return jobsText(count);
}

/** `: 2 retrying, of 412 scheduled jobs that were looked at` */
function seenText(seen: string, count: number, lookedAt: number): string {
  const all = `${lookedAt.toLocaleString("en")} scheduled ${lookedAt === 1 ? "job" : "jobs"}`;
  return `: ${count.toLocaleString("en")} ${seen}, of ${all} that were looked at`;
}

/** `: 2 done, 1 scheduled`; empty if there are no jobs. */
function statesText(jobs: readonly JobSummary[]): string {
  const counts = Map.groupBy(jobs, ({ state }) => state);
  const texts = JOB_STATES.flatMap((state) => {
    const count = counts.get(state)?.length;
    return count === undefined ? [] : [`${count.toLocaleString("en")} ${state}`];
  });
  return texts.length === 0 ? "" : `: ${texts.join(", ")}`;
}

/** Names the range of the list: by its two times, or by words if the address names none. */
function RangeText({ from = "", to = "" }: { from?: string | undefined; to?: string | undefined }) {
  if (from === "" && to === "") return <>due in the next hour</>;
  const range = listedRange(from, to);
  if (Number.isNaN(Date.parse(range.from)) || Number.isNaN(Date.parse(range.to))) return <>in this range</>;
  return (
    <>
      due from <Time at={range.from} show="time" /> until <Time at={range.to} show="time" />
    </>
  );
}
