import { useState } from "preact/hooks";
import { BATCH_JOBS } from "../../../src/core/constants.ts";
import { chunksOf } from "../../../src/general/batches.ts";
import { api } from "../api.ts";
import { jobsText } from "../bulk-calls.ts";
import { durationText } from "../times.ts";
import { Action } from "./action.tsx";
import { BulkAction } from "./bulk-action.tsx";
import { RateField, rateOf } from "./rate-field.tsx";
import type { Why } from "./reason-field.tsx";

type Chosen = {
  readonly topic: string;
  readonly ids: readonly string[];
  /** Says in the button which jobs these are, such as ` of this group`. */
  readonly whose?: string;
  readonly errors: readonly string[];
  readonly onDone: () => void;
};

export function RedriveChosen({ topic, ids: present, whose = "", errors, onDone }: Chosen) {
  const { ids, see, label } = useSeenIds(present, "Redrive", whose);
  const [rate, setRate] = useState("");
  const [done, setDone] = useState(0);
  const perSecond = rateOf(rate);
  const jobs = jobsText(ids.length);
  const when =
    perSecond === undefined
      ? "at once"
      : `one after the other, over ${durationText((ids.length / perSecond) * 1000)}`;

  async function run(why: Why): Promise<string> {
    const sum = await redriveBatches(topic, ids, { perSecond, ...why }, setDone);
    onDone();
    return `Redriven ${sum.toLocaleString("en")} of ${jobs} of ${topic}. They become due ${when}.`;
  }

  return (
    <Action
      label={label}
      title={`Run ${jobs} again?`}
      confirm={`Redrive ${jobs}`}
      impossible={present.length === 0 ? "open a group and choose jobs first" : undefined}
      onOpen={see}
      takesReason
      run={run}
    >
      <p>
        {jobs} of <strong>{topic}</strong> {ids.length === 1 ? "becomes" : "become"} due at once, or one after
        the other at the rate below. The attempts are counted anew.
      </p>
      <DiedOf errors={errors} />
      <RateField value={rate} onChange={setRate} jobs={ids.length} />
      {done > 0 && <progress max={ids.length} value={Math.min(done, ids.length)} aria-label="Redriven" />}
    </Action>
  );
}

/** Redrives jobs in batches. Calls `onProgress` with how many ids were sent. Answers how many jobs were redriven. */
async function redriveBatches(
  topic: string,
  ids: readonly string[],
  { perSecond, ...why }: Why & { readonly perSecond: number | undefined },
  onProgress: (sent: number) => void,
): Promise<number> {
  onProgress(0);
  let sum = 0;
  for (let at = 0; at < ids.length; at += BATCH_JOBS) {
    // Each batch starts after the ones before it.
    const delay =
      perSecond === undefined ? {} : { ratePerSecond: perSecond, delay: Math.floor(at / perSecond) };
    const { redriven } = await api.redrive(topic, { ids: ids.slice(at, at + BATCH_JOBS), ...delay, ...why });
    sum += redriven;
    onProgress(at + BATCH_JOBS);
  }
  return sum;
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
 * The ids that a dialog showed when it was opened. The page reads the dead jobs again and again, but the user has agreed to these. `label`: the
 * text of the button, which counts the present ones.
 */
function useSeenIds(present: readonly string[], verb: string, whose: string) {
  const [ids, setIds] = useState(present);
  const label = present.length === 0 ? `${verb} the chosen` : `${verb} ${jobsText(present.length)}${whose}`;
  return { ids, see: () => setIds(present), label };
}

/** Gives dead jobs up, in batches. */
export function DismissChosen({ topic, ids: present, whose = "", onDone }: Omit<Chosen, "errors">) {
  const { ids, see, label } = useSeenIds(present, "Dismiss", whose);
  const jobs = jobsText(ids.length);
  return (
    <Action
      label={label}
      title={`Give ${jobs} up?`}
      confirm={`Dismiss ${jobs}`}
      isDangerous
      impossible={present.length === 0 ? "open a group and choose jobs first" : undefined}
      onOpen={see}
      takesReason
      run={async (why) => {
        const text = await dismissBatches(topic, ids, why);
        onDone();
        return `Dismissed ${text} of ${topic}.`;
      }}
    >
      <p>
        {jobs} of <strong>{topic}</strong> {ids.length === 1 ? "is" : "are"} cancelled, and will not run
        again. The timeline of each keeps its death.
      </p>
      <p class="undo">This cannot be undone. But you can enqueue a copy of each job on its page.</p>
    </Action>
  );
}

/** Answers how many of the jobs were dismissed, and why the first of the others was not. */
async function dismissBatches(topic: string, ids: readonly string[], why: Why): Promise<string> {
  let sum = 0;
  let reason = "";
  for (const some of chunksOf(ids, BATCH_JOBS)) {
    const part = await api.dismiss(topic, { ids: some, ...why });
    sum += part.dismissed;
    reason ||= part.errors[0]?.problem.detail ?? "";
  }
  const left = reason === "" ? "" : ` (${reason})`;
  return `${sum.toLocaleString("en")} of ${jobsText(ids.length)}${left}`;
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
