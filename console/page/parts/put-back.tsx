import { useState } from "preact/hooks";
import { api } from "../api.ts";
import { clock } from "../clock.ts";
import type { PutBack } from "../commands.ts";
import { jsonText } from "../direction.ts";
import { useJob } from "../reads.ts";
import { type Notice, now, zone } from "../state.ts";
import { timeText } from "../times.ts";
import { Action } from "./action.tsx";
import { ChangedMeanwhile } from "./changed-meanwhile.tsx";
import { TextBlock } from "./text-block.tsx";
import { Time } from "./time.tsx";

/** What a message offers to undo the change of one job. A time that has passed cannot be given back. */
export function undoOf(change: PutBack): Pick<Notice, "undo"> {
  const { job, before } = change;
  if ("body" in before) return { undo: { label: "Put the former body back", act: { putsBack: change } } };
  const [at, present] = [Date.parse(before.dueAt), clock()];
  if (at <= present) return {};
  const verb = at > Date.parse(job.dueAt) ? "Postpone" : "Move";
  return {
    undo: { label: `${verb} back to ${timeText(at, present, zone.value)}`, act: { putsBack: change } },
  };
}

export function PutBackDialog({ change, close }: { change: PutBack; close: () => void }) {
  const { job, before } = change;
  const { data: read = job } = useJob(job.id);
  // The page may not have read the job since the change.
  const present = read.revision < job.revision ? job : read;
  const [seen, setSeen] = useState(job);
  const name = job.key ?? job.id;
  return (
    <Action
      label="Undo"
      isOpenAtOnce
      onClose={close}
      about={seen}
      title={"body" in before ? "Put the former body back?" : "Move this job back?"}
      confirm={"body" in before ? "Put the former body back" : "Move the job back"}
      takesReason
      run={async (why) => {
        await api.reschedule(job.id, { ...before, ifMatch: seen, ...why });
        if ("body" in before) return `${name} has its former body again.`;
        return `${name} is due at ${timeText(Date.parse(before.dueAt), now.value, zone.value)} again.`;
      }}
    >
      {"body" in before ? (
        <>
          <p>
            <strong>{name}</strong> gets the body that it had before. Its time stays.
          </p>
          <TextBlock text={jsonText(before.body, 2)} label="Text of the former body" />
        </>
      ) : (
        <p>
          <strong>{name}</strong> becomes due <Time at={before.dueAt} /> again, instead of{" "}
          <Time at={seen.dueAt} />.
        </p>
      )}
      <ChangedMeanwhile job={present} seen={seen} take={() => setSeen(present)} />
    </Action>
  );
}
