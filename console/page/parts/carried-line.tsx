import { Fragment } from "preact";
import { useState } from "preact/hooks";
import { BULK_JOBS } from "../../../src/core/constants.ts";
import { messageOf } from "../../../src/core/errors.ts";
import type { CarriedAction } from "../../carried.ts";
import { PART_JOBS } from "../../carried-chosen.ts";
import { continueAction, isRunning, isSilent, stopAction, useActions } from "../actions.ts";
import { isShiftedBack, listBefore, listsAfter, shiftBackOf } from "../after-action.ts";
import { jobsText, skippedIn } from "../bulk-calls.ts";
import { goneIn, isOfDead, progressText, selectionText, shareOf } from "../bulk-words.ts";
import { about } from "../server.ts";
import { asked, say } from "../state.ts";
import { addresses } from "./search.ts";

type Props = { readonly action: CarriedAction; readonly close?: (() => void) | undefined };

const SILENT = ". The server of this console does not answer, so the action may have stopped";
const LOST =
  ". The server of this console was started again during this action, and does not continue it. The action may have changed more jobs than were counted here: look at its jobs before you repeat it";

/** What an action on many jobs does or did, where its jobs are now, and what stops, continues or undoes it. */
export function CarriedLine({ action, close }: Props) {
  const { lines, error } = action;
  const isUnknown = isRunning(action) && isSilent.value;
  const state = isUnknown ? "lost" : action.state;
  return (
    <>
      {/* A screen reader hears the end, and not each count on the way. */}
      <span aria-hidden={isRunning(action)}>
        {progressText({ ...action, state })}
        {state === "stopping" && `. Stopping after the present ${partText(lines)} …`}
        {state === "stopped" && ". Stopped"}
        {state === "lost" && (isUnknown ? SILENT : LOST)}
        {error && (
          <>
            . It failed: <code>{error.code}</code> {error.detail}
          </>
        )}
      </span>
      {state !== "done" && (
        <progress
          max={1}
          value={shareOf(lines)}
          aria-label={`Progress: ${progressText({ ...action, state })}`}
        />
      )}
      {!isUnknown && <LineButtons {...{ action, close }} />}
      <LeftJobs action={action} />
    </>
  );
}

/** The jobs that the action has left, each with the reason. Of those that it did not meet, only their number is known. */
function LeftJobs({ action }: Pick<Props, "action">) {
  const left = action.lines.flatMap((line) => line.left);
  const all = action.lines.reduce((sum, line) => sum + skippedIn(line), 0);
  const gone = goneIn(action);
  if (isRunning(action) || all + gone === 0) return null;
  return (
    <details class="left-jobs">
      <summary>
        {all + gone === 1 ? "Show the job that was left" : `Show the ${all + gone} that were left`}
      </summary>
      <ul>
        {left.map(({ id, code, detail }) => (
          <li key={id}>
            <a href={addresses.job(id)}>{id}</a>{" "}
            <span class="quiet">{detail.replace(`job ${id} `, "") || code}</span>
          </li>
        ))}
        {all > left.length && <li class="quiet">and {all - left.length} more, whose reasons are above</li>}
        {gone > 0 && (
          <li>
            <JobsNow action={action} />
            <span class="quiet">
              : {jobsText(gone)} of those that were counted {gone === 1 ? "has" : "have"} changed meanwhile
            </span>
          </li>
        )}
      </ul>
    </details>
  );
}

function JobsNow({ action }: Pick<Props, "action">) {
  return (
    <a href={listBefore(action)}>
      {isOfDead(action) ? "The jobs that are dead now" : "All jobs of the range now"}
    </a>
  );
}

/** How many jobs may still change after "Stop". */
function partText(lines: CarriedAction["lines"]): string {
  const line = lines.find(({ isDone }) => !isDone) ?? lines[0];
  const most = line?.which.jobs === undefined ? BULK_JOBS : PART_JOBS;
  return jobsText(Math.min(most, Math.max((line?.counted ?? 0) - (line?.changed ?? 0), 1)));
}

function LineButtons({ action, close }: Props) {
  const { id, state } = action;
  if (isRunning(action))
    return (
      <span class="buttons">
        {state === "running" && <ActionButton label="Stop" act={() => stopAction(id)} />}
      </span>
    );
  return (
    <span class="buttons">
      {state === "lost" ? (
        <JobsNow action={action} />
      ) : (
        <>
          <Lists action={action} />
          <ShiftBackButton action={action} />
        </>
      )}
      {(state === "stopped" || state === "failed") && (
        <ActionButton label="Go on" act={() => continueAction(id)} />
      )}
      {close && (
        <button type="button" aria-label="Close this message" onClick={close}>
          ×
        </button>
      )}
    </span>
  );
}

function ShiftBackButton({ action }: Pick<Props, "action">) {
  const all = useActions();
  if (about.isViewOnly || shiftBackOf(action) === undefined) return null;
  if (isShiftedBack(action, all)) return <span class="quiet">Shifted back since</span>;
  return (
    <button
      type="button"
      onClick={() => {
        asked.value = { shiftsBack: action };
      }}
    >
      Shift back …
    </button>
  );
}

function Lists({ action }: { action: CarriedAction }) {
  const [first, ...others] = listsAfter(action);
  if (first === undefined) return null;
  if (others.length === 0) return <a href={first.href}>Show them</a>;
  return (
    <span>
      Show{" "}
      {[first, ...others].map(({ of, href }, index) => (
        <Fragment key={href}>
          {index > 0 && ", "}
          <a href={href}>{selectionText(of)}</a>
        </Fragment>
      ))}
    </span>
  );
}

function ActionButton({ label, act }: { label: string; act: () => Promise<void> }) {
  const [isAsked, setAsked] = useState(false);
  return (
    <button
      type="button"
      disabled={isAsked}
      onClick={() => {
        setAsked(true);
        act()
          .catch((error: unknown) => say({ text: `${label}: ${messageOf(error)}`, isFailure: true }))
          .finally(() => setAsked(false));
      }}
    >
      {label}
    </button>
  );
}
