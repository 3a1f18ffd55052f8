import { useEffect, useRef, useState } from "preact/hooks";
import { messageOf } from "../../../src/core/errors.ts";
import type { CarriedAction, Plan } from "../../carried.ts";
import { startAction } from "../actions.ts";
import { type ShiftBack as Back, shiftBackOf } from "../after-action.ts";
import { jobsText } from "../bulk-calls.ts";
import { selectionText } from "../bulk-words.ts";
import { clock } from "../clock.ts";
import { MOST_SHIFTED, shiftText } from "../shift-words.ts";
import { readShifted, type ShiftedRead } from "../shifted-jobs.ts";
import { isoAt } from "../times.ts";
import { Action } from "./action.tsx";
import { BulkAction } from "./bulk-action.tsx";

type Props = { readonly action: CarriedAction; readonly close: () => void };

/** The dialog of the opposite shift, for the jobs that an action has shifted. */
export function ShiftBack({ action, close }: Props) {
  const back = shiftBackOf(action);
  if (back === undefined) return null;
  if (back.moved > MOST_SHIFTED) return <ShiftRangeBack back={back} close={close} />;
  return <ShiftJobsBack action={action} back={back} close={close} />;
}

/** Moves only what the action has shifted. */
function ShiftJobsBack({ action, back, close }: Props & { readonly back: Back }) {
  const { shift, lines } = back;
  const { shifted, read, trouble, begin, stop } = useShifted(action, back);
  const jobs = shifted?.reduce((sum, { counted }) => sum + counted, 0) ?? 0;
  const whose = selectionText(lines.map(({ which }) => which));
  return (
    <Action
      label="Shift back"
      title={`Shift back the jobs of ${whose}?`}
      confirm={`Shift back: ${jobsText(jobs)}`}
      isReady={jobs > 0}
      isOpenAtOnce
      onOpen={() => void begin()}
      onClose={() => {
        stop();
        close();
      }}
      takesReason
      run={async (why) => {
        const change = { action: "move", shift: shift.text, ...why } as const;
        await startAction({ change, at: isoAt(clock()), lines: shifted ?? [] });
        return undefined;
      }}
    >
      <div role="status">
        {trouble !== undefined ? (
          <p class="wrong">The jobs could not be read: {trouble}</p>
        ) : shifted === undefined ? (
          <p>{readText(read)} …</p>
        ) : (
          <Effect back={back} jobs={jobs} />
        )}
      </div>
    </Action>
  );
}

function readText({ jobs, share, timelines }: ShiftedRead): string {
  if (share < 1)
    return `Reading the jobs of the shifted range: ${jobsText(jobs)} so far, ${Math.floor(100 * share)} % of the range read`;
  return `Reading the timelines of the jobs in the shifted range: ${timelines.toLocaleString("en")} of ${jobsText(jobs)}`;
}

function Effect({ back: { shift, lines, moved }, jobs }: { readonly back: Back; readonly jobs: number }) {
  return (
    <>
      <p>
        <strong>{jobsText(jobs)}</strong> of <strong>{selectionText(lines.map(({ which }) => which))}</strong>{" "}
        become due {shiftText(shift.ms)}, as before.
      </p>
      <p class="quiet">{staysText(moved, jobs)}</p>
    </>
  );
}

function staysText(moved: number, jobs: number): string {
  const stay = moved - jobs;
  const gone =
    stay > 0
      ? ` ${jobsText(stay)} of these cannot be shifted back: started, ended or moved since, or due at once.`
      : "";
  return `The action has shifted ${jobsText(moved)}.${gone} Jobs that it did not shift stay where they are.`;
}

function useShifted(action: CarriedAction, back: Back) {
  const [read, setRead] = useState<ShiftedRead>({ jobs: 0, share: 0, timelines: 0 });
  const [shifted, setShifted] = useState<Plan["lines"] | undefined>();
  const [trouble, setTrouble] = useState<string | undefined>();
  const end = useRef(new AbortController());
  useEffect(() => () => end.current.abort(), []);
  async function begin(): Promise<void> {
    const { signal } = end.current;
    try {
      setShifted(await readShifted(action, back, setRead, signal));
    } catch (error) {
      if (!signal.aborted) setTrouble(messageOf(error));
    }
  }
  return { shifted, read, trouble, begin, stop: () => end.current.abort() };
}

/** Too many jobs to read each of them: moves what waits in the shifted range. */
function ShiftRangeBack({
  back: { shift, lines, moved },
  close,
}: Pick<Props, "close"> & { readonly back: Back }) {
  return (
    <BulkAction
      label="Shift back"
      opened={close}
      change={{ action: "move", shift: shift.text }}
      which={lines.map(({ which }) => which)}
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
