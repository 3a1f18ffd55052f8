import { signal } from "@preact/signals";
import { useRef } from "preact/hooks";
import type { JobSummary } from "../../../src/http/answers/jobs.ts";
import type { ErrorGroup } from "../error-groups.ts";
import type { DueRange } from "../search-jobs.ts";
import { ErrorGroupItem } from "./error-group.tsx";
import { JobLine } from "./job-line.tsx";
import { DismissChosen, RedriveChosen } from "./redrive.tsx";
import { Rows } from "./rows.tsx";

/** The ids of the chosen jobs. They stay chosen while the user looks at one of them in its own view. */
export const chosenIds = signal<ReadonlySet<string>>(new Set());
export function choose(ids: ReadonlySet<string>): void {
  chosenIds.value = ids;
}

type GroupProps = {
  readonly topic: string;
  readonly group: ErrorGroup;
  readonly isOnly: boolean;
  readonly axis: DueRange;
  readonly chosen: ReadonlySet<string>;
  readonly isPart: boolean;
};

export function DeadGroup({ topic, group, isOnly, axis, chosen, isPart }: GroupProps) {
  const { title, jobs } = group;
  const ids = jobs.map(({ id }) => id);
  const click = useChoosing(ids, chosen);
  const given = {
    ...{ topic, jobs, whose: " of this group" },
    onDone: () => choose(changedChoice(chosen, ids, false)),
  };
  const actions = (
    <>
      <RedriveChosen {...given} errors={[title]} />
      <DismissChosen {...given} />
    </>
  );
  return (
    <ErrorGroupItem
      group={group}
      isOnly={isOnly}
      those="those that are dead now"
      axis={axis}
      isPart={isPart}
      actions={actions}
    >
      <GroupJobs group={group} chosen={chosen} click={click} />
    </ErrorGroupItem>
  );
}

type GroupJobsProps = Pick<GroupProps, "group" | "chosen"> & {
  readonly click: (id: string, isChosen: boolean, isRange: boolean) => void;
};

function GroupJobs({ group: { title, jobs }, chosen, click }: GroupJobsProps) {
  const ids = jobs.map(({ id }) => id);
  const isAnyLeft = ids.some((id) => !chosen.has(id));
  return (
    <>
      <div class="buttons">
        <button type="button" onClick={() => choose(changedChoice(chosen, ids, isAnyLeft))}>
          {isAnyLeft ? `Choose all ${ids.length} of this group` : "Choose none of this group"}
        </button>
        {ids.length > 2 && (
          <span class="quiet">With Shift, a click chooses all jobs from the last one that you clicked.</span>
        )}
      </div>
      <Rows rows={jobs} keyOf={({ id }) => id} height={48} label={`Dead jobs: ${title}`}>
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
