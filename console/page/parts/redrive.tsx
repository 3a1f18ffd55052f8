import { useState } from "preact/hooks";
import type { JobSummary } from "../../../src/http/answers/jobs.ts";
import type { Change } from "../../carried.ts";
import { startAction } from "../actions.ts";
import { jobsText } from "../bulk-calls.ts";
import { wordsOf } from "../bulk-words.ts";
import { clock } from "../clock.ts";
import { isoAt } from "../times.ts";
import { Action } from "./action.tsx";
import { BulkAction } from "./bulk-action.tsx";
import { RateField, rateOf } from "./rate-field.tsx";

type Chosen = {
  readonly topic: string;
  readonly jobs: readonly JobSummary[];
  /** Says in the button which jobs these are, such as ` of this group`. */
  readonly whose?: string;
  readonly errors: readonly string[];
  readonly onDone: () => void;
};

/** Lets the server of the console change the chosen jobs, as it does with all jobs of a range. */
async function start(change: Change, topic: string, jobs: readonly JobSummary[]): Promise<undefined> {
  const due = jobs.map(({ dueAt }) => Date.parse(dueAt)).sort((a, b) => a - b);
  const which = {
    ...{ topic, jobs: jobs.map(({ id }) => ({ id })) },
    ...{ from: isoAt(due[0] ?? 0), to: isoAt((due.at(-1) ?? 0) + 1) },
  };
  await startAction({ change, at: isoAt(clock()), lines: [{ which, counted: jobs.length }] });
}

export function RedriveChosen({ topic, jobs: present, whose = "", errors, onDone }: Chosen) {
  const { jobs, see, label, short } = useSeen(present, "Redrive", whose);
  const [rate, setRate] = useState("");
  const perSecond = rateOf(rate);
  const text = jobsText(jobs.length);
  return (
    <Action
      label={label}
      short={short}
      title={`Run ${text} again?`}
      confirm={`Redrive ${text}`}
      impossible={present.length === 0 ? "open a group and choose jobs first" : undefined}
      onOpen={see}
      takesReason
      run={async (why) => {
        const pace = perSecond === undefined ? {} : { ratePerSecond: perSecond };
        await start({ action: "redrive", ...pace, ...why }, topic, jobs);
        onDone();
        return undefined;
      }}
    >
      <p>
        {text} of <strong>{topic}</strong> {jobs.length === 1 ? "becomes" : "become"} due at once, or one
        after the other at the rate below. The attempts are counted anew.
      </p>
      <DiedOf errors={errors} />
      <RateField value={rate} onChange={setRate} jobs={jobs.length} />
      <p class="undo">{wordsOf({ action: "redrive" }).undo}</p>
    </Action>
  );
}

const NAMED_ERRORS = 3;

export function DiedOf({ errors }: { errors: readonly string[] }) {
  return (
    <>
      <p>Is the cause mended? The errors were:</p>
      <ul class="errors">
        {errors.slice(0, NAMED_ERRORS).map((error) => (
          <li key={error}>{error}</li>
        ))}
        {errors.length > NAMED_ERRORS && <li>and {errors.length - NAMED_ERRORS} others</li>}
      </ul>
    </>
  );
}

export function RedriveAll({ topic, errors }: Pick<Chosen, "topic" | "errors">) {
  return (
    <BulkAction
      label="Redrive all"
      change={{ action: "redrive" }}
      which={{ topics: [topic] }}
      effect="become due at once, or at the rate above. Their attempts are counted anew"
      takesRate
    >
      <DiedOf errors={errors} />
    </BulkAction>
  );
}

/**
 * The jobs that a dialog showed when it was opened. The page reads the dead jobs again and again, but the user has agreed to these. `label`: the
 * text of the button, which counts the present ones. `short`: what the button of a group shows of it.
 */
function useSeen(present: readonly JobSummary[], verb: string, whose: string) {
  const [jobs, setJobs] = useState(present);
  const label = present.length === 0 ? `${verb} the chosen` : `${verb} ${jobsText(present.length)}${whose}`;
  const short = whose === "" ? undefined : `${verb} ${present.length.toLocaleString("en")} …`;
  return { jobs, see: () => setJobs(present), label, short };
}

/** Gives dead jobs up. */
export function DismissChosen({ topic, jobs: present, whose = "", onDone }: Omit<Chosen, "errors">) {
  const { jobs, see, label, short } = useSeen(present, "Dismiss", whose);
  const text = jobsText(jobs.length);
  return (
    <Action
      label={label}
      short={short}
      title={`Give ${text} up?`}
      confirm={`Dismiss ${text}`}
      isDangerous
      impossible={present.length === 0 ? "open a group and choose jobs first" : undefined}
      onOpen={see}
      takesReason
      run={async (why) => {
        await start({ action: "dismiss", ...why }, topic, jobs);
        onDone();
        return undefined;
      }}
    >
      <p>
        {text} of <strong>{topic}</strong> {jobs.length === 1 ? "is" : "are"} cancelled, and will not run
        again. The timeline of each keeps its death.
      </p>
      <p class="undo">This cannot be undone. But you can enqueue a copy of each job on its page.</p>
    </Action>
  );
}

export function DismissAll({ topic }: Pick<Chosen, "topic">) {
  return (
    <BulkAction
      label="Dismiss all"
      change={{ action: "dismiss" }}
      which={{ topics: [topic] }}
      effect="are cancelled, and do not run again. Their timelines keep their deaths"
      isDangerous
    />
  );
}
