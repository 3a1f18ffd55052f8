import { useState } from "preact/hooks";
import { BATCH_JOBS } from "../../../core/constants.ts";
import { api } from "../api.ts";
import { durationText } from "../times.ts";
import { Action } from "./action.tsx";
import { BulkAction } from "./bulk-action.tsx";
import { RateField, rateOf } from "./rate-field.tsx";

type Chosen = {
  readonly topic: string;
  readonly ids: readonly string[];
  /** Says in the button which jobs these are, such as ` of this group`. */
  readonly whose?: string;
  readonly onDone: () => void;
};

/** Runs chosen dead jobs again, at a rate that the user may choose. */
export function RedriveChosen({ topic, ids, whose = "", onDone }: Chosen) {
  const [rate, setRate] = useState("");
  const [done, setDone] = useState(0);
  const perSecond = rateOf(rate);
  const jobs = ids.length === 1 ? "1 job" : `${ids.length.toLocaleString("en")} jobs`;
  const when =
    perSecond === undefined
      ? "at once"
      : `one after the other, over ${durationText((ids.length / perSecond) * 1000)}`;

  async function run(): Promise<string> {
    setDone(0);
    let sum = 0;
    for (let at = 0; at < ids.length; at += BATCH_JOBS) {
      // Each batch starts after the ones before it.
      const delay =
        perSecond === undefined ? {} : { ratePerSecond: perSecond, delay: Math.floor(at / perSecond) };
      const { redriven } = await api.redrive(topic, { ids: ids.slice(at, at + BATCH_JOBS), ...delay });
      sum += redriven;
      setDone(at + BATCH_JOBS);
    }
    onDone();
    return `Redriven ${sum.toLocaleString("en")} of ${jobs} of ${topic}. They become due ${when}.`;
  }

  return (
    <Action
      label={ids.length === 0 ? "Redrive the chosen" : `Redrive ${jobs}${whose}`}
      title={`Run ${jobs} again?`}
      confirm={`Redrive ${jobs}`}
      impossible={ids.length === 0 ? "open a group and choose jobs first" : undefined}
      run={run}
    >
      <p>
        {jobs} of <strong>{topic}</strong> {ids.length === 1 ? "becomes" : "become"} due at once, or one after
        the other at the rate below. The attempts are counted anew.
      </p>
      <RateField value={rate} onChange={setRate} jobs={ids.length} />
      {done > 0 && <progress max={ids.length} value={Math.min(done, ids.length)} aria-label="Redriven" />}
    </Action>
  );
}

/** Runs all dead jobs of a topic again. Counts them first. */
export function RedriveAll({ topic }: { topic: string }) {
  return (
    <BulkAction
      label="Redrive all"
      request={{ action: "redrive", topic }}
      effect="become due at once, or at the rate above. Their attempts are counted anew"
      takesRate
    />
  );
}
