import { signal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { useLocation } from "preact-iso";
import type { CarriedAction } from "../../carried.ts";
import { isRunning, useActions } from "../actions.ts";
import { isNarrow } from "../state.ts";
import { MINUTE } from "../times.ts";
import { CarriedLine } from "./carried-line.tsx";
import { addresses } from "./search.ts";

/** The ended actions that the user has closed in this tab. */
const closedIds = signal<ReadonlySet<string>>(new Set());

/** How long an action that is done stays in sight, ms. One that failed or was stopped stays until the user closes it. */
const DONE_MS = 2 * MINUTE;

/** The actions on many jobs that are in progress or have just ended, whoever started them: in every view and every tab. */
export function CarriedActions() {
  const place = useRef<HTMLElement>(null);
  const { path } = useLocation();
  const actions = useActions();
  // The view of the last actions shows all of them.
  const all = path === addresses.lastActions ? [] : shownOf(actions, closedIds.value);
  // On a phone, several would cover the view.
  const shown = isNarrow.value ? [...all.filter(isRunning), ...all].slice(0, 1) : all;
  const others = all.length - shown.length;
  useHeight(place);
  return (
    <aside ref={place} class="carried" aria-label="Actions in progress">
      <div role="status">
        <ul>
          {shown.map((action) => (
            <li key={action.id} class={action.state}>
              <CarriedLine
                action={action}
                close={() => {
                  closedIds.value = new Set([...closedIds.value, action.id]);
                }}
              />
            </li>
          ))}
          {others > 0 && (
            <li>
              <a href={addresses.lastActions}>
                {others === 1 ? "1 other action" : `${others} other actions`}
              </a>
            </li>
          )}
        </ul>
      </div>
    </aside>
  );
}

/** Of those that are done, only the newest. The view of the last actions has the others. */
function shownOf(actions: readonly CarriedAction[], closed: ReadonlySet<string>): CarriedAction[] {
  const shown = actions.filter((action) => isShown(action, closed));
  const newest = shown.find(({ state }) => state === "done");
  return shown.filter((action) => action.state !== "done" || action === newest);
}

function isShown(action: CarriedAction, closed: ReadonlySet<string>): boolean {
  if (isRunning(action)) return true;
  return !closed.has(action.id) && (action.state !== "done" || (action.endedAgo ?? 0) < DONE_MS);
}

/** Tells what sticks to the bottom of a view how high the actions are. A longer text may take another line. */
function useHeight(place: { current: HTMLElement | null }): void {
  useLayoutEffect(() => {
    const { current: shown } = place;
    if (shown === null) return;
    const observer = new ResizeObserver(() =>
      document.documentElement.style.setProperty("--carried-height", `${shown.offsetHeight}px`),
    );
    observer.observe(shown);
    return () => observer.disconnect();
  }, [place]);
}
