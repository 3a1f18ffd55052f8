import type { ComponentChildren } from "preact";
import type { JobSummary } from "../../../src/http/answers/jobs.ts";
import { countsIn, type ErrorGroup, isRecent, rateText } from "../error-groups.ts";
import type { DueRange } from "../search-jobs.ts";
import { now } from "../state.ts";
import { Choice } from "./choice.tsx";
import { ChevronRight } from "./icon.tsx";
import { addresses, useSearch } from "./search.ts";
import { TextBlock } from "./text-block.tsx";
import { Time } from "./time.tsx";

type Props = {
  readonly group: ErrorGroup;
  /** Whether there is no other group. Then it is open from the beginning. */
  readonly isOnly: boolean;
  /** The jobs: a failed job that was redriven, or ran again, is none of them. */
  readonly those: string;
  /** The time that the bars of all groups have in common. */
  readonly axis: DueRange;
  /** Whether there are newer failures that were not read. Then the last one read says nothing about now. */
  readonly isPart?: boolean;
  /** More of the summary. */
  readonly more?: ComponentChildren;
  /** What can be done with the group. */
  readonly actions?: ComponentChildren;
  /** The jobs of the open group. */
  readonly children: ComponentChildren;
};

/** In the address: the only group was closed. */
const NONE = "none";

/** Jobs that failed with errors of one kind: how many, since when, how often, whether that goes on; and, when it is open, the jobs. */
export function ErrorGroupItem({ group, isOnly, those, axis, isPart, more, actions, children }: Props) {
  const [query, change] = useSearch();
  const { name, title, jobs } = group;
  // The address names the open group, so that the group is open again after a visit to one of its jobs.
  const isOpen = query.open === name || (isOnly && query.open === undefined);
  const [latest] = jobs;
  return (
    <li class="group">
      <div class="group-head">
        {/* The jobs stand below the button, and so they are not in here. */}
        <details
          open={isOpen}
          onToggle={({ currentTarget: { open } }) => {
            // A group that closes because another one was opened changes nothing.
            if (open !== isOpen) change({ open: open ? name : isOnly ? NONE : undefined });
          }}
        >
          <Summary group={group} those={those} axis={axis} isPart={isPart === true} more={more} />
        </details>
        <div class="group-actions">
          {latest && (
            <a class="button" href={addresses.job(latest.id)} aria-label={`Newest job of: ${title}`}>
              Newest job
            </a>
          )}
          {actions}
        </div>
      </div>
      {isOpen && (
        <>
          {latest?.lastError !== undefined && (
            <TextBlock text={latest.lastError} label="The error of the last of these jobs" />
          )}
          {children}
        </>
      )}
    </li>
  );
}

type SummaryProps = Pick<Props, "group" | "those" | "axis" | "more"> & { readonly isPart: boolean };

function Summary({ group, those, axis, isPart, more }: SummaryProps) {
  const { title, jobs, first, last } = group;
  const rate = isPart ? "" : rateText(group, now.value);
  return (
    <summary>
      <div class="group-name">
        <ChevronRight class="icon" size={14} aria-hidden="true" />
        <span class={isRecent(last, now.value) && !isPart ? "dot bad" : "dot"} aria-hidden="true" />
        <span>
          <strong>{jobs.length.toLocaleString("en")}</strong> × {title}
        </span>
      </div>
      <Bars jobs={jobs} axis={axis} />
      <div class="group-when quiet">
        <span>
          last <Time at={last} show="distance" />
        </span>
        {jobs.length > 1 && (
          <span title={`the first of ${those}`}>
            first <Time at={first} show="distance" />
          </span>
        )}
        {rate !== "" && <span>{rate}</span>}
        {more}
      </div>
    </summary>
  );
}

const STEPS = 48;
const HEIGHT = 20;

/** When the jobs failed. The summary says the same in words. */
function Bars({ jobs, axis }: { jobs: readonly JobSummary[]; axis: DueRange }) {
  const counts = countsIn(jobs, axis, STEPS);
  const most = Math.max(...counts, 1);
  return (
    <svg class="group-bars" viewBox={`0 0 ${STEPS} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
      {counts.map((count, step) => {
        const height = count === 0 ? 0.5 : Math.max((count / most) * HEIGHT, 2);
        return (
          <rect
            key={step}
            class={count === 0 ? "none" : ""}
            x={step + 0.1}
            y={HEIGHT - height}
            width={0.8}
            height={height}
          />
        );
      })}
    </svg>
  );
}

const ORDERS = { most: "most first", newest: "newest kind first" };

/** The order of the groups. The address keeps it. */
export function GroupOrder() {
  const [{ order }, change] = useSearch();
  return (
    <div class="field">
      <Choice
        label="Order"
        value={order === "newest" ? ORDERS.newest : ORDERS.most}
        options={Object.values(ORDERS)}
        onChange={(chosen) => change({ order: chosen === ORDERS.newest ? "newest" : undefined })}
      />
    </div>
  );
}

type AsOfProps = { readonly readAt: number | undefined; readonly axis: DueRange; readonly what: string };

export function AsOf({ readAt, axis, what }: AsOfProps) {
  return (
    <p class="quiet">
      {readAt !== undefined && (
        <>
          As of <Time at={readAt} show="time" />.{" "}
        </>
      )}
      The bars show when the jobs {what}, from <Time at={axis.from} show="time" /> until now.
    </p>
  );
}
