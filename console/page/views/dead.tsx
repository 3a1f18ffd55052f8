import { signal } from "@preact/signals";
import { useQuery } from "@tanstack/preact-query";
import { useRef } from "preact/hooks";
import type { JobSummary } from "../../../http/answers.ts";
import { api, REFRESH_MS, refetchEvery } from "../api.ts";
import { diedAt, type ErrorGroup, groupByError } from "../error-groups.ts";
import { JobLine } from "../parts/job-line.tsx";
import { Empty, Loaded } from "../parts/loaded.tsx";
import { RedriveAll, RedriveChosen } from "../parts/redrive.tsx";
import { Rows } from "../parts/rows.tsx";
import { addresses, useSearch } from "../parts/search.ts";
import { TextBlock } from "../parts/text-block.tsx";
import { Time } from "../parts/time.tsx";
import { TopicField } from "../parts/topic-field.tsx";
import { firstOf, useTopics } from "../reads.ts";
import "./dead.css";

/** The dead jobs of the topic in the address, or the numbers of dead jobs of all topics. */
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

/** The ids of the chosen jobs. They stay chosen while the user looks at one of them in its own view. */
const chosenIds = signal<ReadonlySet<string>>(new Set());
function choose(ids: ReadonlySet<string>): void {
  chosenIds.value = ids;
}

function DeadOf({ topic }: { topic: string }) {
  const chosen = chosenIds.value;
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
      {(jobs) => {
        if (jobs.length === 0) {
          return (
            <Empty>
              <p>
                No job of <strong>{topic}</strong> is dead.
              </p>
            </Empty>
          );
        }
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
              As of <Time at={dead.dataUpdatedAt} show="time" />.
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
                <Group key={group.name} topic={topic} group={group} chosen={chosen} />
              ))}
            </ul>
          </>
        );
      }}
    </Loaded>
  );
}

type GroupProps = {
  readonly topic: string;
  readonly group: ErrorGroup;
  readonly chosen: ReadonlySet<string>;
};

function Group({ topic, group: { name, jobs }, chosen }: GroupProps) {
  const [query, change] = useSearch();
  // The address names the open group, so that the group is open again after a visit to one of its jobs.
  const isOpen = query.open === name;
  /** The job whose box was clicked last. */
  const clicked = useRef<string | undefined>(undefined);
  const ids = jobs.map(({ id }) => id);
  const count = ids.filter((id) => chosen.has(id)).length;
  const [latest] = jobs;
  const oldest = jobs.at(-1);
  function set(some: readonly string[], isChosen: boolean): void {
    const next = new Set(chosen);
    for (const id of some) {
      if (isChosen) next.add(id);
      else next.delete(id);
    }
    choose(next);
  }
  function click(id: string, isChosen: boolean, isRange: boolean): void {
    const [at, from] = [ids.indexOf(id), ids.indexOf(clicked.current ?? "")];
    clicked.current = id;
    const isAlone = !isRange || from === -1;
    set(isAlone ? [id] : ids.slice(Math.min(at, from), Math.max(at, from) + 1), isChosen);
  }
  return (
    <li class="group">
      <div class="group-head">
        {/* The jobs stand below the button, and so they are not in here. */}
        <details
          open={isOpen}
          onToggle={({ currentTarget: { open } }) => {
            // A group that closes because another one was opened changes nothing.
            if (open !== isOpen) change({ open: open ? name : undefined });
          }}
        >
          <summary>
            <strong>{jobs.length.toLocaleString("en")}</strong> × {name}
            <div class="quiet">
              {latest && (
                <>
                  last <Time at={diedAt(latest)} show="distance" />
                </>
              )}
              {oldest && jobs.length > 1 && (
                <>
                  , first <Time at={diedAt(oldest)} show="distance" />
                </>
              )}
            </div>
          </summary>
        </details>
        <RedriveChosen
          topic={topic}
          ids={ids}
          whose=" of this group"
          errors={[name]}
          onDone={() => set(ids, false)}
        />
      </div>
      {isOpen && (
        <>
          {latest?.lastError !== undefined && (
            <TextBlock text={latest.lastError} label="The error of the last of these jobs" />
          )}
          <div class="buttons">
            <button type="button" onClick={() => set(ids, count < ids.length)}>
              {count < ids.length ? `Choose all ${ids.length} of this group` : "Choose none of this group"}
            </button>
            {ids.length > 2 && (
              <span class="quiet">
                With Shift, a click chooses all jobs from the last one that you clicked.
              </span>
            )}
          </div>
          <Rows rows={jobs} keyOf={({ id }) => id} height={48} label={`Dead jobs: ${name}`}>
            {(job) => (
              <ChoosableJob
                job={job}
                isChosen={chosen.has(job.id)}
                click={(isChosen, isRange) => click(job.id, isChosen, isRange)}
              />
            )}
          </Rows>
        </>
      )}
    </li>
  );
}

type ChoosableProps = {
  readonly job: JobSummary;
  readonly isChosen: boolean;
  /** Called with `isRange` if the Shift key is down. */
  readonly click: (isChosen: boolean, isRange: boolean) => void;
};

function ChoosableJob({ job, isChosen, click }: ChoosableProps) {
  return (
    <div class="choice">
      <input
        type="checkbox"
        checked={isChosen}
        aria-label={`Choose ${job.key ?? job.id}`}
        onClick={({ currentTarget, shiftKey }) => click(currentTarget.checked, shiftKey)}
      />
      <JobLine job={job} />
    </div>
  );
}
