import { useQuery } from "@tanstack/preact-query";
import { useEffect, useMemo, useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import type { JobSummary } from "../../../src/http/answers/jobs.ts";
import { REFRESH_MS } from "../api.ts";
import { jobsText } from "../bulk-calls.ts";
import { clock } from "../clock.ts";
import { jsonText } from "../direction.ts";
import { excerptOf, searchOf } from "../job-match.ts";
import { type JobSearch, useJobSearch } from "../job-search.ts";
import { Choice } from "../parts/choice.tsx";
import { JobLine } from "../parts/job-line.tsx";
import { Empty, Failure, Loaded } from "../parts/loaded.tsx";
import { Rows } from "../parts/rows.tsx";
import { addresses, useSearch } from "../parts/search.ts";
import { Time } from "../parts/time.tsx";
import { TopicField } from "../parts/topic-field.tsx";
import { NeverFiled, Why } from "../parts/why.tsx";
import { findJobs, useTopics } from "../reads.ts";
import type { FoundJob, Searched, Searching } from "../search-jobs.ts";
import { DAY, HOUR } from "../times.ts";

/** Which due times are searched: from and to, ms from now. */
const RANGES: Readonly<Record<string, readonly [number, number]>> = {
  "a day ago to 7 days ahead": [-DAY, 7 * DAY],
  "an hour ago to an hour ahead": [-HOUR, HOUR],
  "the last 31 days": [-31 * DAY, 0],
  "the next 31 days": [0, 31 * DAY],
  "31 days ago to 31 days ahead": [-31 * DAY, 31 * DAY],
};
const USUAL = "a day ago to 7 days ahead";
const LONG = "31 days ago to 31 days ahead";

/** Opens the job that has the id or the key, or lists all jobs with the words of the text. */
export function Found({ text }: { text: string }) {
  const [{ all }] = useSearch();
  const exact = useExact(text);
  const { route } = useLocation();
  const only = exact.data?.length === 1 && !all ? exact.data[0]?.id : undefined;
  useEffect(() => {
    // The search leaves the history, so that the user can go back.
    if (only !== undefined) route(addresses.job(only), true);
  }, [only, route]);
  if (only !== undefined) return null;
  return (
    <>
      <h1>Search</h1>
      <SearchFields text={text} />
      <Loaded query={exact} what="the job">
        {(jobs) => (jobs.length === 0 ? null : <Exact text={text} jobs={jobs} />)}
      </Loaded>
      <Others text={text} exact={exact.data} />
    </>
  );
}

function useExact(text: string) {
  return useQuery({
    queryKey: ["find", text],
    queryFn: ({ signal }) => findJobs(text, signal),
    // What was not found will hardly appear by itself, and each search makes a call for each topic.
    refetchInterval: ({ state: { data } }) => (data?.length === 0 ? false : REFRESH_MS),
  });
}

function SearchFields({ text }: { text: string }) {
  const [{ topic = "", within = USUAL, bodies }, change] = useSearch();
  const [typed, setTyped] = useState(text);
  useEffect(() => setTyped(text), [text]);
  return (
    <form
      class="filters search-fields"
      onSubmit={(event) => {
        event.preventDefault();
        if (typed.trim() !== "") change({ find: typed.trim() });
      }}
    >
      <label class="field">
        Words, an id or a key
        <input type="search" value={typed} onInput={({ currentTarget }) => setTyped(currentTarget.value)} />
      </label>
      <TopicField value={topic} none="all topics" onChange={(name) => change({ topic: name })} />
      <div class="field">
        <Choice
          label="Due"
          value={within}
          options={Object.keys(RANGES)}
          onChange={(name) => change({ within: name === USUAL ? undefined : name })}
        />
      </div>
      <label class="check">
        <input
          type="checkbox"
          checked={bodies === "yes"}
          onChange={({ currentTarget }) => change({ bodies: currentTarget.checked ? "yes" : undefined })}
        />
        Bodies too
      </label>
      <button type="submit">Search</button>
    </form>
  );
}

function Exact({ text, jobs }: { text: string; jobs: readonly JobSummary[] }) {
  return (
    <>
      <p>
        {jobs.length === 1 ? "1 job has" : `${jobs.length} jobs have`} the key <code>{text}</code>.
      </p>
      <Rows rows={jobs} keyOf={({ id }) => id} height={80} label="Jobs found">
        {(job) => (
          <>
            <JobLine job={job} />
            <Why job={job} />
          </>
        )}
      </Rows>
    </>
  );
}

type OthersProps = {
  readonly text: string;
  /** The jobs that have the id or the key. `undefined`: not known. */
  readonly exact: readonly JobSummary[] | undefined;
};

/** The jobs that have the words of the text somewhere. */
function Others({ text, exact }: OthersProps) {
  const known = exact ?? [];
  const search = useJobSearch(useAsked(text));
  const { searched, isReading, isWhole, error, goOn } = search;
  if (error !== undefined) return <Failure error={error} what="the jobs" again={goOn} />;
  if (searched === undefined) return <p role="status">Searching …</p>;
  const ids = new Set(known.map(({ id }) => id));
  const found = searched.found.filter(({ job }) => !ids.has(job.id));
  return (
    <section aria-labelledby="others-title">
      <h2 id="others-title">
        {known.length > 0 ? "Other jobs" : "Jobs"} with the words of <code>{text}</code>
      </h2>
      <Progress search={search} searched={searched} count={found.length} />
      {exact?.length === 0 && (
        <p class="quiet">
          No job has the id or the key <code>{text}</code>.
        </p>
      )}
      {found.length > 0 && (
        <Rows rows={found} keyOf={({ job }) => job.id} height={44} label={`Jobs with the words of ${text}`}>
          {(one) => <FoundLine found={one} text={text} />}
        </Rows>
      )}
      {found.length + known.length === 0 && !isReading && <NothingFound isWhole={isWhole} />}
    </section>
  );
}

/** The same object until the user asks for something else, because each new one begins a search. */
function useAsked(text: string): Searching | undefined {
  const [{ topic, within = USUAL, bodies }] = useSearch();
  const { data: topics, error } = useTopics();
  const isKnown = topics !== undefined || error !== null;
  // Topics that are read again begin no new search.
  return useMemo(() => {
    if (!isKnown) return undefined;
    const now = clock();
    const [from, to] = RANGES[within] ?? [-DAY, 7 * DAY];
    const withDead = (topics ?? []).filter(({ dead }) => dead.count > 0).map((one) => one.topic);
    return {
      search: searchOf(text),
      range: { from: now + from, to: now + to },
      now,
      topic,
      deadOf: withDead.filter((name) => topic === undefined || name === topic),
      withBodies: bodies === "yes",
    };
  }, [text, topic, within, bodies, isKnown]);
}

type ProgressProps = { readonly search: JobSearch; readonly searched: Searched; readonly count: number };

function Progress({ search: { isReading, isWhole, stop, goOn }, searched, count }: ProgressProps) {
  const { jobs, dead, bodies, reached } = searched;
  const [{ bodies: withBodies }] = useSearch();
  return (
    <div class="searched">
      <p role="status">
        {isReading ? "Searching …" : isWhole ? "Searched." : "Not everything was searched."}{" "}
        {count === 0 ? "Nothing was found" : `${jobsText(count)} found`}
        {isReading || !isWhole ? " so far." : "."}
      </p>
      <p class="quiet">
        Compared: {jobsText(jobs)} due from <Time at={reached.from} show="time" /> until{" "}
        <Time at={reached.to} show="time" />
        {dead > 0 && `, and ${dead.toLocaleString("en")} dead jobs that were due at any time`}. By id, key,
        tag, group, schedule and error
        {withBodies
          ? `, and ${bodies.toLocaleString("en")} by their bodies too.`
          : ", and not by their bodies."}
      </p>
      {isReading && (
        <button type="button" onClick={stop}>
          Stop
        </button>
      )}
      {!isReading && !isWhole && (
        <button type="button" onClick={goOn}>
          Go on
        </button>
      )}
    </div>
  );
}

/** The line of a job shows all texts but its body. */
function FoundLine({ found: { job, body }, text }: { found: FoundJob; text: string }) {
  return (
    <>
      <JobLine job={job} />
      {body !== undefined && (
        <p class="found-in quiet">
          Its body: <code>{excerptOf(jsonText(body), searchOf(text))}</code>
        </p>
      )}
    </>
  );
}

function NothingFound({ isWhole }: { isWhole: boolean }) {
  const [{ within = USUAL, bodies }, change] = useSearch();
  return (
    <Empty>
      <p>{isWhole ? "Nothing was found. Look further:" : "Nothing was found so far. Look further:"}</p>
      <ul class="reasons">
        {within !== LONG && (
          <li>
            If it is due at another time:{" "}
            <button type="button" onClick={() => change({ within: LONG })}>
              Search {LONG}
            </button>
          </li>
        )}
        {bodies !== "yes" && (
          <li>
            If the words stand only in its body:{" "}
            <button type="button" onClick={() => change({ bodies: "yes" })}>
              Search the bodies too
            </button>
          </li>
        )}
      </ul>
      <NeverFiled />
    </Empty>
  );
}
