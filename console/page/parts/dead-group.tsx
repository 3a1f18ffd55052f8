import { signal } from "@preact/signals";
import { useRef } from "preact/hooks";
import type { JobSummary } from "../../../src/http/answers/jobs.ts";
import { type ErrorGroup, failedAt } from "../error-groups.ts";
import { JobLine } from "./job-line.tsx";
import { RedriveChosen } from "./redrive.tsx";
import { Rows } from "./rows.tsx";
import { useSearch } from "./search.ts";
import { TextBlock } from "./text-block.tsx";
import { Time } from "./time.tsx";

/** The ids of the chosen jobs. They stay chosen while the user looks at one of them in its own view. */
export const chosenIds = signal<ReadonlySet<string>>(new Set());
export function choose(ids: ReadonlySet<string>): void {
  chosenIds.value = ids;
}

type GroupProps = {
  readonly topic: string;
  readonly group: ErrorGroup;
  readonly chosen: ReadonlySet<string>;
};

export function DeadGroup({ topic, group, chosen }: GroupProps) {
  const { name, jobs } = group;
  const [query, change] = useSearch();
  // The address names the open group, so that the group is open again after a visit to one of its jobs.
  const isOpen = query.open === name;
  const ids = jobs.map(({ id }) => id);
  const click = useChoosing(ids, chosen);
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
          <GroupSummary group={group} />
        </details>
        <RedriveChosen
          topic={topic}
          ids={ids}
          whose=" of this group"
          errors={[name]}
          onDone={() => choose(changedChoice(chosen, ids, false))}
        />
      </div>
      {isOpen && <GroupJobs group={group} chosen={chosen} click={click} />}
    </li>
  );
}

function GroupSummary({ group: { name, jobs } }: { group: ErrorGroup }) {
  const [latest] = jobs;
  const oldest = jobs.at(-1);
  return (
    <summary>
      <strong>{jobs.length.toLocaleString("en")}</strong> × {name}
      <div class="quiet">
        {latest && (
          <>
            last <Time at={failedAt(latest)} show="distance" />
          </>
        )}
        {oldest && jobs.length > 1 && (
          <>
            , first <Time at={failedAt(oldest)} show="distance" />
          </>
        )}
      </div>
    </summary>
  );
}

type GroupJobsProps = Pick<GroupProps, "group" | "chosen"> & {
  readonly click: (id: string, isChosen: boolean, isRange: boolean) => void;
};

function GroupJobs({ group: { name, jobs }, chosen, click }: GroupJobsProps) {
  const ids = jobs.map(({ id }) => id);
  const isAnyLeft = ids.some((id) => !chosen.has(id));
  const error = jobs[0]?.lastError;
  return (
    <>
      {error !== undefined && <TextBlock text={error} label="The error of the last of these jobs" />}
      <div class="buttons">
        <button type="button" onClick={() => choose(changedChoice(chosen, ids, isAnyLeft))}>
          {isAnyLeft ? `Choose all ${ids.length} of this group` : "Choose none of this group"}
        </button>
        {ids.length > 2 && (
          <span class="quiet">With Shift, a click chooses all jobs from the last one that you clicked.</span>
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
  );
}

/** Answers what a click on the box of a job does. With `isRange` it chooses all jobs from the one that was clicked last. */
function useChoosing(ids: readonly string[], chosen: ReadonlySet<string>): GroupJobsProps["click"] {
  const clicked = useRef<string | undefined>(undefined);
  return (id, isChosen, isRange) => {
    const [at, from] = [ids.indexOf(id), ids.indexOf(clicked.current ?? "")];
    clicked.current = id;
    const isAlone = !isRange || from === -1;
    const some = isAlone ? [id] : ids.slice(Math.min(at, from), Math.max(at, from) + 1);
    choose(changedChoice(chosen, some, isChosen));
  };
}

function changedChoice(
  chosen: ReadonlySet<string>,
  ids: readonly string[],
  isChosen: boolean,
): ReadonlySet<string> {
  if (isChosen) return new Set([...chosen, ...ids]);
  const removed = new Set(ids);
  return new Set([...chosen].filter((id) => !removed.has(id)));
}

type ChoosableProps = {
  readonly job: JobSummary;
  readonly isChosen: boolean;
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
