import { signal } from "@preact/signals";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { messageOf } from "../../../src/core/errors.ts";
import type { CarriedAction } from "../../carried.ts";
import { continueAction, isRunning, stopAction, useActions } from "../actions.ts";
import { progressText, shareOf } from "../bulk-words.ts";
import { say } from "../state.ts";
import { MINUTE } from "../times.ts";

/** The ended actions that the user has closed in this tab. */
const closedIds = signal<ReadonlySet<string>>(new Set());

/** How long an action that is done stays in sight, ms. One that failed or was stopped stays until the user closes it. */
const DONE_MS = MINUTE;

/** The actions on many jobs that are in progress or have just ended, whoever started them: in every view and every tab. */
export function CarriedActions() {
  const place = useRef<HTMLElement>(null);
  const shown = useActions().filter((action) => isShown(action, closedIds.value));
  useHeight(place, shown.length);
  return (
    <aside ref={place} class="carried" aria-label="Actions in progress">
      <div role="status">
        <ul>
          {shown.map((action) => (
            <li key={action.id} class={action.state}>
              <CarriedLine action={action} />
            </li>
          ))}
        </ul>
      </div>
    </aside>
  );
}

function isShown(action: CarriedAction, closed: ReadonlySet<string>): boolean {
  if (isRunning(action)) return true;
  return !closed.has(action.id) && (action.state !== "done" || (action.endedAgo ?? 0) < DONE_MS);
}

/** Tells what sticks to the bottom of a view how high the actions are. */
function useHeight(place: { current: HTMLElement | null }, count: number): void {
  useLayoutEffect(() => {
    const height = count === 0 ? 0 : (place.current?.offsetHeight ?? 0);
    document.documentElement.style.setProperty("--carried-height", `${height}px`);
  }, [place, count]);
}

function CarriedLine({ action }: { action: CarriedAction }) {
  const { id, state, lines, error } = action;
  return (
    <>
      {/* A screen reader hears the end, and not each count on the way. */}
      <span aria-hidden={isRunning(action)}>
        {progressText(action)}
        {state === "stopping" && ". Stopping after the present part …"}
        {state === "stopped" && ". Stopped"}
        {error && (
          <>
            . It failed: <code>{error.code}</code> {error.detail}
          </>
        )}
      </span>
      {state !== "done" && (
        <progress max={1} value={shareOf(lines)} aria-label={`Progress: ${progressText(action)}`} />
      )}
      <span class="buttons">
        {state === "running" && <ActionButton label="Stop" act={() => stopAction(id)} />}
        {(state === "stopped" || state === "failed") && (
          <ActionButton label="Go on" act={() => continueAction(id)} />
        )}
        {!isRunning(action) && (
          <button
            type="button"
            aria-label="Close this message"
            onClick={() => {
              closedIds.value = new Set([...closedIds.value, id]);
            }}
          >
            ×
          </button>
        )}
      </span>
    </>
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
