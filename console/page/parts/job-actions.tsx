import { useState } from "preact/hooks";
import type { JobJson } from "../../../src/http/answers/jobs.ts";
import { api } from "../api.ts";
import { clock } from "../clock.ts";
import { jsonText, withVisibleMarks } from "../direction.ts";
import { readJson } from "../json-text.ts";
import { untrackedTrouble } from "../reads.ts";
import { about } from "../server.ts";
import { type Notice, now, zone } from "../state.ts";
import { readJobTime } from "../time-words.ts";
import { DAY, durationText, HOUR, isoAt, relativeText, timeText } from "../times.ts";
import { Action } from "./action.tsx";
import { ChangedMeanwhile } from "./changed-meanwhile.tsx";
import { JsonField } from "./json-field.tsx";
import { undoOf } from "./put-back.tsx";
import { DiedOf } from "./redrive.tsx";
import { addresses } from "./search.ts";
import { Time } from "./time.tsx";
import { TimeField } from "./time-field.tsx";

export function JobActions({ job }: { job: JobJson }) {
  // The dialog stays open when somebody else redrives or dismisses the job, and says so.
  const [isDismissing, setDismissing] = useState(false);
  const name = job.key ?? job.id;
  const stateTrouble =
    job.state === "scheduled" ? undefined : `the job is ${job.state}, so it cannot be changed`;
  const impossible = untrackedTrouble(job.topic) ?? stateTrouble;
  const given = { job, name, impossible };
  return (
    <div class="buttons">
      <RunNow {...given} />
      <Reschedule {...given} />
      <ChangeBody {...given} />
      <Cancel {...given} />
      <Redrive job={job} name={name} />
      {(job.state === "dead" || isDismissing) && (
        <Dismiss
          job={job}
          name={name}
          onOpen={() => setDismissing(true)}
          onClose={() => setDismissing(false)}
        />
      )}
      {HAS_COPY.includes(job.state) && !about.isViewOnly && (
        <a class="button" href={addresses.enqueue({ copy: job.id })}>
          Enqueue a copy …
        </a>
      )}
    </div>
  );
}

/** States of a job that never runs again. */
const HAS_COPY: readonly JobJson["state"][] = ["cancelled", "done", "dead", "expired"];

/** Leads from the message about a job that cannot be brought back to a new job like it. */
function copyOf({ id }: JobJson): Pick<Notice, "href" | "link"> {
  return { href: addresses.enqueue({ copy: id }), link: "Enqueue a copy of it" };
}

/**
 * The job as a dialog showed it first. The page reads the job again and again, but a change is for the job that the user saw: the API refuses it
 * if somebody has changed the job since.
 */
function useSeen(job: JobJson) {
  const [seen, setSeen] = useState(job);
  return { seen, see: () => setSeen(job) };
}

type Props = { readonly job: JobJson; readonly name: string; readonly impossible: string | undefined };

function RunNow({ job, name, impossible }: Props) {
  const { seen, see } = useSeen(job);
  return (
    <Action
      label="Run now"
      title="Run this job now?"
      confirm="Run the job now"
      impossible={impossible}
      onOpen={see}
      about={seen}
      takesReason
      run={async (why) => {
        const moved = await api.reschedule(job.id, { delay: 0, ifMatch: seen, ...why });
        const text = `${name} is due now. It starts within seconds.`;
        return { text, ...undoOf({ job: moved, before: { dueAt: seen.dueAt } }) };
      }}
    >
      <p>
        <strong>{name}</strong> becomes due now instead of at <Time at={seen.dueAt} />. A pause, a limit or a
        window of its topic still counts.
      </p>
      <ChangedMeanwhile job={job} seen={seen} take={see} />
    </Action>
  );
}

/** How much later than its due time a button moves a job, ms. */
const LATER = [HOUR, 2 * HOUR, DAY];

function firstLineOf(text: string): string {
  return withVisibleMarks(text.split("\n")[0] ?? text);
}

function Reschedule({ job, name, impossible }: Props) {
  const { seen, see } = useSeen(job);
  const [words, setWords] = useState("");
  const time = readJobTime(words, now.value, zone.value);
  return (
    <Action
      label="Reschedule"
      title="Run this job at another time?"
      confirm="Reschedule the job"
      impossible={impossible}
      isReady={time !== undefined}
      onOpen={see}
      about={seen}
      takesReason
      run={async (why) => {
        const moved = await api.reschedule(job.id, { ...time, ifMatch: seen, ...why });
        const [at, present] = [Date.parse(moved.dueAt), clock()];
        const text = `${name} is due ${relativeText(at, present)}, at ${timeText(at, present, zone.value)}.`;
        return { text, ...undoOf({ job: moved, before: { dueAt: seen.dueAt } }) };
      }}
    >
      <p>
        <strong>{name}</strong> is due <Time at={seen.dueAt} /> now.
      </p>
      {/* The dialog gives its first field the focus, so that a typed time goes there. */}
      <TimeField label="New time" isOfJob value={words} onChange={setWords} />
      <div class="buttons">
        {LATER.map((by) => (
          <button key={by} type="button" onClick={() => setWords(isoAt(Date.parse(seen.dueAt) + by))}>
            {durationText(by)} later
          </button>
        ))}
      </div>
      <ChangedMeanwhile job={job} seen={seen} take={see} />
    </Action>
  );
}

function ChangeBody({ job, name, impossible }: Props) {
  const { seen, see } = useSeen(job);
  const [text, setText] = useState("");
  const read = readJson(text);
  const open = () => {
    see();
    setText(jsonText(job.body, 2));
  };
  return (
    <Action
      label="Change the body"
      title="Change the body of this job?"
      confirm="Change the body"
      impossible={impossible}
      isReady={"value" in read}
      onOpen={open}
      about={seen}
      takesReason
      run={async (why) => {
        if (!("value" in read)) return undefined;
        const changed = await api.reschedule(job.id, { body: read.value, ifMatch: seen, ...why });
        const text = `Changed the body of ${name}.`;
        return { text, ...undoOf({ job: changed, before: { body: seen.body } }) };
      }}
    >
      <p>
        <strong>{name}</strong> will run with this body. Its time stays.
      </p>
      <JsonField label="Body (JSON)" value={text} onChange={setText} />
      <ChangedMeanwhile job={job} seen={seen} take={open} />
    </Action>
  );
}

function Cancel({ job, name, impossible }: Props) {
  const { seen, see } = useSeen(job);
  return (
    <Action
      label="Cancel"
      title="Cancel this job?"
      confirm="Cancel the job"
      isDangerous
      impossible={impossible}
      onOpen={see}
      about={seen}
      takesReason
      run={async (why) => {
        await api.cancel(job.id, { ifMatch: seen, ...why });
        return { text: `Cancelled ${name}. It will not run.`, ...copyOf(job) };
      }}
    >
      <p>
        <strong>{name}</strong> will not run.
      </p>
      <p class="undo">
        This cannot be undone: a cancelled job cannot be brought back. But you can enqueue a copy of it.
      </p>
      <ChangedMeanwhile job={job} seen={seen} take={see} />
    </Action>
  );
}

function Redrive({ job, name }: Omit<Props, "impossible">) {
  const { seen, see } = useSeen(job);
  return (
    <Action
      label="Redrive"
      title="Run this dead job again?"
      confirm="Redrive the job"
      impossible={
        job.state === "dead" ? undefined : `the job is ${job.state}, and only a dead job can be redriven`
      }
      onOpen={see}
      about={seen}
      takesReason
      run={async (why) => {
        const { redriven } = await api.redrive(job.topic, { ids: [job.id], ifMatch: seen, ...why });
        return redriven === 1
          ? `Redriven ${name}. It runs now.`
          : `${name} was not dead any more, so nothing was done.`;
      }}
    >
      <p>
        <strong>{name}</strong> becomes due now, with all of its attempts. If its cause is not mended, it dies
        again.
      </p>
      <p class="undo">This cannot be undone. Until the job starts, you can still cancel it.</p>
      {job.lastError !== undefined && <DiedOf errors={[firstLineOf(job.lastError)]} />}
      <ChangedMeanwhile job={job} seen={seen} take={see} />
    </Action>
  );
}

type DismissProps = Omit<Props, "impossible"> & { readonly onOpen: () => void; readonly onClose: () => void };

/** Shown for a dead job only: a job that never died needs no such button. */
function Dismiss({ job, name, onOpen, onClose }: DismissProps) {
  const { seen, see } = useSeen(job);
  return (
    <Action
      label="Dismiss"
      title="Give this dead job up?"
      confirm="Dismiss the job"
      isDangerous
      onOpen={() => {
        see();
        onOpen();
      }}
      onClose={onClose}
      about={seen}
      takesReason
      run={async (why) => {
        const { dismissed, errors } = await api.dismiss(job.topic, { ids: [job.id], ifMatch: seen, ...why });
        return dismissed === 1
          ? { text: `Dismissed ${name}. It is cancelled, and will not run.`, ...copyOf(job) }
          : { text: `${name} was not dismissed: ${errors[0]?.problem.detail}.`, isFailure: true };
      }}
    >
      <p>
        <strong>{name}</strong> will not run again, and it counts as cancelled. Its timeline keeps its death.
      </p>
      <p class="undo">This cannot be undone. But you can enqueue a copy of the job.</p>
      <ChangedMeanwhile job={job} seen={seen} take={see} />
    </Action>
  );
}
