import type { CarriedAction } from "../../carried.ts";
import { shiftBackOf } from "../after-action.ts";
import { jobsText } from "../bulk-calls.ts";
import { shiftText } from "../shift-words.ts";
import { BulkAction } from "./bulk-action.tsx";

/** The dialog of a shift with the opposite shift, for the jobs that an action has shifted. */
export function ShiftBack({ action, close }: { action: CarriedAction; close: () => void }) {
  const back = shiftBackOf(action);
  if (back === undefined) return null;
  const { shift, lines, moved } = back;
  return (
    <BulkAction
      label="Shift back"
      opened={close}
      change={{ action: "move", shift: shift.text }}
      which={lines}
      effect={`become due ${shiftText(shift.ms)}, as before`}
      judge={(jobs) => <p class={jobs > moved ? "wrong" : "quiet"}>{comparedText(jobs, moved)}</p>}
    />
  );
}

/** Compares what waits in the shifted range with what the action has shifted. */
function comparedText(jobs: number, moved: number): string {
  const shifted = `The action has shifted ${jobsText(moved)}`;
  if (jobs === moved) return `${shifted}, and as many wait in the shifted range.`;
  if (jobs < moved)
    return `${shifted}. Of these, ${jobsText(moved - jobs)} cannot be shifted back: started, ended or moved since, or due at once.`;
  return `${shifted}, but ${jobs.toLocaleString("en")} wait in the shifted range. So ${jobsText(jobs - moved)} that the action did not shift would be moved too. To leave them alone, close this dialog and shift back by tag or group.`;
}
