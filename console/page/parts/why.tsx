import { NEVER_FILED, whyNotRun } from "../../../src/client/why-not-run.ts";
import type { JobSummary } from "../../../src/http/answers/jobs.ts";
import { withVisibleMarks } from "../direction.ts";
import { topicOrUndeclared } from "../reads.ts";
import { shownState } from "../shown-state.ts";
import { now } from "../state.ts";
import { Time } from "./time.tsx";

const QUESTIONS: Readonly<Partial<Record<JobSummary["state"], string>>> = {
  scheduled: "Why has it not run yet?",
  dead: "Why is it dead?",
  expired: "Why did it not run?",
  cancelled: "Why did it not run?",
};

const COLOURS: Readonly<Record<string, string>> = { dead: "bad", expired: "bad" };

/** Says in a sentence or two why a job has not run, or how it ended. A view that shows this reads the topics too. */
export function Why({ job }: { job: JobSummary }) {
  const question = QUESTIONS[job.state];
  return (
    <p class={`why ${COLOURS[shownState(job)] ?? shownState(job)}`}>
      {question && (
        <>
          <strong>{question}</strong>{" "}
        </>
      )}
      {whyNotRun(job, topicOrUndeclared(job.topic), now.value).map((part, index) =>
        typeof part === "string" ? withVisibleMarks(part) : <WhyTime key={index} at={part.getTime()} />,
      )}
    </p>
  );
}

function WhyTime({ at }: { at: number }) {
  return (
    <>
      <Time at={at} show="time" /> (<Time at={at} show="distance" />)
    </>
  );
}

/** What it can mean that no job has an id or a key. */
export function NeverFiled() {
  return (
    <div class="never-filed">
      <p>If you expected a job here, one of these is so:</p>
      <ul>
        {NEVER_FILED.map((reason) => (
          <li key={reason}>{reason}</li>
        ))}
      </ul>
    </div>
  );
}
