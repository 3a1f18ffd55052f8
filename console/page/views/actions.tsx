import type { CarriedAction } from "../../carried.ts";
import { useActions } from "../actions.ts";
import { CarriedLine } from "../parts/carried-line.tsx";
import { Empty } from "../parts/loaded.tsx";
import { addresses } from "../parts/search.ts";
import { Time } from "../parts/time.tsx";

/** The last actions on many jobs, so that the user can still find and undo one whose message is gone. */
export function ActionsView() {
  const actions = useActions();
  return (
    <>
      <h1>Actions on many jobs</h1>
      <p class="quiet">
        These are the last actions since this console was started, the newest first, from all of its tabs. The
        timeline of each job also says who has changed it.
      </p>
      {actions.length === 0 ? (
        <Empty>
          <p>
            There was none. The list of <a href={addresses.jobs()}>jobs</a> and the{" "}
            <a href={addresses.dead()}>dead jobs</a> have actions on all that you see there.
          </p>
        </Empty>
      ) : (
        <ul class="carried-list">
          {actions.map((action) => (
            <li key={action.id} class={action.state}>
              <Begun action={action} />
              <CarriedLine action={action} />
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

function Begun({ action: { at, change } }: { action: CarriedAction }) {
  return (
    <span class="quiet">
      {at !== undefined && <Time at={at} />}
      {change.reason !== undefined && ` Reason: ${change.reason}`}
    </span>
  );
}
