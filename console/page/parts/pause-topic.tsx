import { useState } from "preact/hooks";
import { actorText } from "../../../src/client/actor-text.ts";
import { isHolding, type Pause } from "../../../src/client/holding.ts";
import type { TopicJson } from "../../../src/http/answers/topics.ts";
import { api } from "../api.ts";
import { jobsText } from "../bulk-calls.ts";
import { Action } from "./action.tsx";
import { CirclePause, Play } from "./icon.tsx";
import { RateField, rateOf } from "./rate-field.tsx";
import { Time } from "./time.tsx";

export function PauseBadge({ pause }: { pause: Pause | undefined }) {
  if (!isHolding(pause)) return null;
  if (pause.state === "resuming") return <PauseMark state={pause.state} />;
  return (
    <span>
      <PauseMark state={pause.state} /> since <Time at={pause.since} />
      {pause.by && ` by ${actorText(pause.by)}`}
    </span>
  );
}

export function PauseMark({ state }: Pick<Pause, "state">) {
  const Icon = state === "resuming" ? Play : CirclePause;
  return (
    <span class="badge held">
      <Icon class="icon" size={12} aria-hidden="true" />
      {state}
    </span>
  );
}

/** Without a button, the dialog is open from the beginning, and calls this when it closes. */
type Opened = { readonly opened?: (() => void) | undefined };

export function PauseTopic({ topic, opened }: { topic: string } & Opened) {
  return (
    <Action
      {...openedAtOnce(opened)}
      label="Pause"
      of={topic}
      title={`Pause ${topic}?`}
      confirm="Pause the topic"
      takesReason
      run={async (why) => {
        await api.pause(topic, why);
        const text = `Paused ${topic}. It can take 5 seconds until no more of its jobs start.`;
        return { text, undo: { label: "Resume", act: { resumes: topic } } };
      }}
    >
      <p>
        No job of <strong>{topic}</strong> starts until you resume the topic. It can take 5 seconds until no
        more jobs start. Jobs that run now are not interrupted. New jobs are still accepted, and wait.
      </p>
    </Action>
  );
}

function openedAtOnce(opened: Opened["opened"]) {
  return opened === undefined ? {} : { isOpenAtOnce: true, onClose: opened };
}

type ResumeProps = Pick<TopicJson, "topic" | "depths"> & { readonly pause: Pause } & Opened;

export function ResumeTopic({ topic, depths, pause, opened }: ResumeProps) {
  const { ready, delayed, inFlight } = depths;
  const [rate, setRate] = useState("");
  const perSecond = rateOf(rate);
  return (
    <Action
      {...openedAtOnce(opened)}
      label="Resume"
      of={topic}
      title={`Resume ${topic}?`}
      confirm="Resume the topic"
      takesReason
      run={async (why) => {
        const given = perSecond === undefined ? {} : { ratePerSecond: perSecond };
        const { released, left } = await api.resume(topic, { ...given, ...why });
        const rest =
          left === 0
            ? ""
            : ` The other ${left === 1 ? "one is" : `${left} are`} released minute by minute, and start ${paceText(perSecond)}.`;
        const pace = perSecond === undefined ? "" : ` at ${perSecond} a second`;
        return `Resumed ${topic}${pace}. ${released === 1 ? "1 job was" : `${released} jobs were`} released.${rest}`;
      }}
    >
      <p>
        {pause.parked === 0
          ? "No job is held. A rate matters only if jobs are held before the topic is resumed."
          : `${heldText(pause.parked)} that became due ${pause.parked === 1 ? "is" : "are"} held. They will start, ${paceText(perSecond)}.`}
      </p>
      <p>
        {ready + delayed + inFlight === 0
          ? "The queue has no messages of this topic."
          : `The queue also has messages of this topic: ${ready} ready, ${delayed} delayed, ${inFlight} in flight. Their jobs start too, when they are due.`}
      </p>
      <RateField value={rate} onChange={setRate} jobs={pause.parked} />
    </Action>
  );
}

function paceText(perSecond: number | undefined): string {
  return perSecond === undefined ? "all of them at once" : `${perSecond} a second`;
}

/** The API counts held jobs up to 1,000. */
export function heldText(parked: number): string {
  if (parked >= 1000) return "1,000 or more jobs";
  return jobsText(parked);
}
