import type { JobJson } from "../../../src/http/answers/jobs.ts";
import { type Attempt, attemptsOf } from "../attempts.ts";
import { withVisibleMarks } from "../direction.ts";
import { durationText } from "../times.ts";
import { Time } from "./time.tsx";

const COLOURS: Readonly<Record<Attempt["outcome"], string>> = {
  running: "",
  done: "good",
  failed: "bad",
  dead: "bad",
  "asked to run again": "retry",
  throttled: "retry",
  "not heard of": "warn",
};

/** One line for each attempt of the timeline. Nothing if there is none. */
export function Attempts({ job }: { job: JobJson }) {
  const attempts = attemptsOf(job);
  if (attempts.length === 0) return null;
  return (
    <section class="panel" aria-labelledby="attempts-title">
      <h2 id="attempts-title">Attempts</h2>
      <table class="data attempts">
        <thead>
          <tr>
            <th scope="col">Attempt</th>
            <th scope="col">Outcome</th>
            <th scope="col">Started</th>
            <th scope="col" class="number">
              Late
            </th>
            <th scope="col" class="number">
              Took
            </th>
          </tr>
        </thead>
        {attempts.map((attempt, index) => (
          <Lines key={index} attempt={attempt} most={job.maxAttempts} />
        ))}
      </table>
    </section>
  );
}

function Lines({ attempt: { attempt, started, lateness, took, outcome, error }, most }: LineProps) {
  return (
    <tbody>
      <tr>
        <td class="nowrap">
          {attempt} of {most}
        </td>
        <td>
          <span class={`dot ${COLOURS[outcome]}`} aria-hidden="true" /> {outcome}
        </td>
        <td>
          {started === undefined ? <span class="quiet">not kept</span> : <Time at={started} show="time" />}
        </td>
        <td class="number">{lateness === undefined ? "" : durationText(lateness * 1000)}</td>
        <td class="number">{took === undefined ? "" : durationText(took)}</td>
      </tr>
      {error !== undefined && (
        <tr>
          <td colSpan={5} class="attempt-error">
            {withVisibleMarks(firstLine(error))}
          </td>
        </tr>
      )}
    </tbody>
  );
}

type LineProps = { readonly attempt: Attempt; readonly most: number };

function firstLine(text: string): string {
  return text.trim().split("\n")[0] ?? "";
}
