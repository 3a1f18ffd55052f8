import { useInfiniteQuery, useQuery } from "@tanstack/preact-query";
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import type { JobSummary } from "../../../http/answers.ts";
import { queries, REFRESH_MS, refetchEvery } from "../api.ts";
import { BulkAction } from "../parts/bulk-action.tsx";
import { Choice } from "../parts/choice.tsx";
import { JobLine } from "../parts/job-line.tsx";
import { Empty, Loaded } from "../parts/loaded.tsx";
import { RangeFields } from "../parts/range-fields.tsx";
import { Rows } from "../parts/rows.tsx";
import { addresses, useSearch } from "../parts/search.ts";
import { Time } from "../parts/time.tsx";
import { TimeField } from "../parts/time-field.tsx";
import { TopicField } from "../parts/topic-field.tsx";
import { WordList } from "../parts/words.tsx";
import { findJobs, type JobSelection, jobPage, untrackedTrouble } from "../reads.ts";
import { isNarrow, now, zone } from "../state.ts";
import { readJobTime } from "../time-words.ts";
import { HOUR, isoAt } from "../times.ts";

const STATES: readonly JobSummary["state"][] = [
  ...(["scheduled", "running", "done", "cancelled", "dead", "expired", "handed-off"] as const),
];

/** The states that the marks of the lines name. */
const SHOWN_STATES = [...STATES, "held", "late"] as const;

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

/** Opens the job that was found, or lists the jobs if several topics have the key. */
function Found({ text }: { text: string }) {
  const found = useQuery({
    queryKey: ["find", text],
    queryFn: ({ signal }) => findJobs(text, signal),
    // What was not found will hardly appear by itself, and each search makes a call for each topic.
    refetchInterval: ({ state: { data } }) => (data?.length === 0 ? false : REFRESH_MS),
  });
  const { route } = useLocation();
  const only = found.data?.length === 1 ? found.data[0]?.id : undefined;
  useEffect(() => {
    // The search leaves the history, so that the user can go back.
    if (only !== undefined) route(addresses.job(only), true);
  }, [only, route]);
  if (only !== undefined) return null;
  return (
    <Loaded query={found} what="the job">
      {(jobs) =>
        jobs.length === 0 ? (
          <Empty>
            <p>
              No job has the id or the key <code>{text}</code>. A search compares whole ids and keys. A job of
              an untracked topic is not stored if it was filed less than 210 seconds before it was due.
            </p>
            <Labelled text={text} />
            <p>
              <a href={addresses.jobs()}>Show the jobs that are due next</a>
            </p>
          </Empty>
        ) : (
          <>
            <p>
              {jobs.length} jobs have the key <code>{text}</code>.
            </p>
            <Rows rows={jobs} keyOf={({ id }) => id} height={44} label="Jobs found">
              {(job) => <JobLine job={job} />}
            </Rows>
            <Labelled text={text} />
          </>
        )
      }
    </Loaded>
  );
}

/** Links to the jobs that have a text as their tag or group. A search does not find these jobs. */
function Labelled({ text }: { text: string }) {
  return (
    <>
      {(["tag", "group"] as const).map((name) => (
        <p key={name}>
          <a href={addresses.labelled(name, text)}>
            Show the jobs with the {name} <code>{text}</code>
          </a>
        </p>
      ))}
    </>
  );
}

/** A list of so many pages is read again at each interval. A longer list is read again only when the user asks for that. */
const REFRESHED_PAGES = 2;
/** A page may have no job although the list goes on. Then the next pages are read without a click, until so many jobs are there. */
const FIRST_JOBS = 50;

function Selected() {
  const [query] = useSearch();
  const { topic, state, tag, group, from, to } = query;
  const asked = { topic, state: state as JobSummary["state"] | undefined, tag, group, from, to };
  const [isStopped, setStopped] = useState(false);
  const pages = useInfiniteQuery({
    queryKey: ["jobs", asked],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) => jobPage(asked, pageParam, signal),
    getNextPageParam: ({ cursor }) => cursor,
    // The lines of the selection before stay until those of a new selection are read, so that nothing moves under the pointer.
    placeholderData: (before) => before,
    refetchInterval: ({ state }) =>
      (state.data?.pages.length ?? 0) <= REFRESHED_PAGES &&
      refetchEvery(Math.max(REFRESH_MS, 5000))({ state }),
  });
  const { fetchNextPage, hasNextPage, isFetching, isFetchingNextPage, isPlaceholderData, data } = pages;
  /** Whether the list is from before an action. */
  const isOld = isFetching && queries.getQueryState(["jobs", asked])?.isInvalidated;
  const readOn = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage]);
  const jobs = useMemo(() => data?.pages.flatMap((page) => page.jobs) ?? [], [data]);
  useEffect(() => {
    if (jobs.length < FIRST_JOBS && !isStopped) readOn();
  }, [jobs.length, isStopped, readOn]);
  const isMore = isPlaceholderData ? data?.pages.at(-1)?.cursor !== undefined : hasNextPage;
  return (
    <>
      <Filters />
      <Loaded query={pages} what="the jobs">
        {({ pages: read }) => (
          <>
            <p role="status">
              {isPlaceholderData ? (
                "Reading the jobs …"
              ) : (
                <>
                  {countText(jobs.length, hasNextPage)} <RangeText from={from} to={to} />
                  {statesText(jobs)}
                  {hasNextPage
                    ? `, from ${read.length} ${read.length === 1 ? "page" : "pages"}; the rest of the range is ${isFetchingNextPage ? "being read" : "not read yet"}`
                    : ""}
                  .{isOld && " Reading again …"}
                </>
              )}
              {!from && !to && (
                <>
                  {" "}
                  <a href={addresses.jobs({ ...query, ...aroundNow() })}>
                    Show the jobs of the last hour too
                  </a>
                </>
              )}
              {read.length > REFRESHED_PAGES && !isPlaceholderData && (
                <>
                  {" "}
                  As of <Time at={pages.dataUpdatedAt} show="time" />.{" "}
                  <button
                    type="button"
                    onClick={() => void queries.resetQueries({ queryKey: ["jobs", asked] })}
                  >
                    Read again
                  </button>
                </>
              )}
            </p>
            <div class={isPlaceholderData ? "dimmed" : undefined}>
              {jobs.length === 0 && !isMore ? (
                <Empty>
                  <p>
                    {isPlaceholderData ? (
                      "Reading the jobs …"
                    ) : (
                      <>
                        No job <RangeText from={from} to={to} /> matches. Choose another range, or fewer
                        conditions.
                      </>
                    )}
                  </p>
                </Empty>
              ) : (
                <Rows rows={jobs} keyOf={({ id }) => id} height={44} label="Jobs" onEnd={readOn}>
                  {(job) => <JobLine job={job} />}
                </Rows>
              )}
            </div>
            {isMore && (
              <div class="buttons">
                <button
                  type="button"
                  onClick={() => {
                    setStopped(isFetchingNextPage);
                    readOn();
                  }}
                >
                  {isFetchingNextPage ? "Reading … Stop after this page" : "Read more jobs"}
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

/** While the range is still read, there may be jobs although none is found yet. */
function countText(count: number, isIncomplete: boolean): string {
  if (count === 0 && isIncomplete) return "No job yet";
  return count === 1 ? "1 job" : `${count.toLocaleString("en")} jobs`;
}

/** From an hour ago to an hour ahead: late jobs are due before now. */
function aroundNow(): { from: string; to: string } {
  return { from: isoAt(Date.now() - HOUR), to: isoAt(Date.now() + HOUR) };
}

/** `: 2 done, 1 scheduled`; empty if there are no jobs. */
function statesText(jobs: readonly JobSummary[]): string {
  const counts = Map.groupBy(jobs, ({ state }) => state);
  const texts = STATES.flatMap((state) => {
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

/** The filters. Where they would take half of the window, they are folded, and their names and values are in one line. */
function Filters() {
  const [{ topic, state, tag, group, from }] = useSearch();
  if (!isNarrow.value) return <FilterFields />;
  const chosen = [topic, state, tag && `tag ${tag}`, group && `group ${group}`, from && "a range"].filter(
    Boolean,
  );
  return (
    <details class="folded">
      <summary>Filters: {chosen.join(", ") || "none"}</summary>
      <FilterFields />
    </details>
  );
}

function FilterFields() {
  const [query, change] = useSearch();
  return (
    <form class="filters" onSubmit={(event) => event.preventDefault()}>
      <TopicField value={query.topic ?? ""} none="all topics" onChange={(topic) => change({ topic })} />
      <div class="field">
        <Choice
          label="State"
          value={query.state ?? ""}
          options={STATES}
          onChange={(state) => change({ state })}
          none="all states"
        />
      </div>
      <Filter name="tag" value={query.tag ?? ""} onChange={(tag) => change({ tag })} />
      <Filter name="group" value={query.group ?? ""} onChange={(group) => change({ group })} />
      <RangeFields from={query.from ?? ""} to={query.to ?? ""} onChange={change} />
    </form>
  );
}

/** How long the user must not type until a filter is applied, ms. */
const TYPED_MS = 400;

/** A filter of a text. It is applied while the user types, because the click that leaves the field may be for something else. */
function Filter({
  name,
  value,
  onChange,
}: {
  name: string;
  value: string;
  onChange: (text: string) => void;
}) {
  const [text, setText] = useState(value);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const applied = useRef(value);
  // The other filters may change before this one is applied.
  const latest = useRef(onChange);
  latest.current = onChange;
  useEffect(() => {
    // The address may change without this field. What the user types meanwhile stays.
    if (value !== applied.current) setText(value);
    applied.current = value;
  }, [value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  function apply(words: string): void {
    clearTimeout(timer.current);
    if (words.trim() === applied.current) return;
    applied.current = words.trim();
    latest.current(words.trim());
  }
  return (
    <div class="field">
      <label>
        {name === "tag" ? "Tag" : "Group"}
        <input
          value={text}
          placeholder="any"
          onInput={({ currentTarget: { value: words } }) => {
            setText(words);
            clearTimeout(timer.current);
            timer.current = setTimeout(apply, TYPED_MS, words);
          }}
          onChange={(event) => apply(event.currentTarget.value)}
        />
      </label>
    </div>
  );
}

/** The range of the list, for calls that have another range by default: without a range the API lists the jobs of the next hour. */
function listedRange(from = "", to = ""): { from: string; to: string } {
  const begin = from === "" ? now.value : Date.parse(from);
  // An address may have a text that is no time. The API then says so.
  if (Number.isNaN(begin)) return { from, to };
  return { from: isoAt(begin), to: to === "" ? isoAt(begin + HOUR) : to };
}

/** Actions on all jobs of a topic that the filters select. */
function Bulks({ selection: { topic = "", tag, group, from, to } }: { selection: JobSelection }) {
  const [words, setWords] = useState("");
  const time = readJobTime(words, now.value, zone.value);
  const impossible = topic === "" ? "choose a topic first" : untrackedTrouble(topic);
  const place = from || to ? "in this range" : "due in the next hour";
  const chosen = {
    topic,
    ...(tag ? { tag } : {}),
    ...(group ? { group } : {}),
    ...listedRange(from, to),
  };
  return (
    <section aria-labelledby="bulks-title">
      <h2 id="bulks-title">Change all jobs of this topic, tag, group and range</h2>
      <p class="quiet">
        These actions change the waiting jobs {place}, whatever the state filter says. They count the jobs
        first.
      </p>
      <div class="buttons">
        <BulkAction
          label="Run all now"
          request={{ action: "run", ...chosen }}
          effect="become due at once, or at the rate above"
          takesRate
          impossible={impossible}
        />
        <BulkAction
          label="Move all"
          request={{ action: "move", ...chosen, ...(time ?? { delay: 0 }) }}
          effect="move to the time above, all to the same moment or at the rate above"
          takesRate
          isReady={time !== undefined}
          impossible={impossible}
        >
          <TimeField label="New time" isOfJob value={words} onChange={setWords} />
          <p>All jobs move to the same moment. Words such as "in 30 minutes" count from now.</p>
        </BulkAction>
        <BulkAction
          label="Cancel all"
          request={{ action: "cancel", ...chosen }}
          effect="will not run. A cancelled job cannot be brought back"
          isDangerous
          impossible={impossible}
        />
        {impossible && (
          <span class="quiet">{topic === "" ? "Choose a topic first." : `Not possible: ${impossible}.`}</span>
        )}
      </div>
    </section>
  );
}
