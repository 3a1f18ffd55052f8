import type { ComponentChildren } from "preact";
import { lateIn } from "../../../src/client/late-in.ts";
import type { TopicJson } from "../../../src/http/answers/topics.ts";
import type { History } from "../../history.ts";
import { jobsText } from "../bulk-calls.ts";
import { type Compared, compare, lateText, minutesOf, trendOf, trendText } from "../history-spans.ts";
import { lateJobs } from "../needs.ts";
import { durationText } from "../times.ts";
import { TrendMark } from "./sparks.tsx";
import { Time } from "./time.tsx";

/** How late the topic's jobs are now, compared with an hour ago. */
export function NowAndBefore({ report, history }: { report: TopicJson; history: History }) {
  const compared = compare(history, minutesOf(history, report.topic));
  const { now, before } = compared;
  const trend = trendOf(compared);
  return (
    <section class="panel compared" aria-labelledby="compared-title">
      <h2 id="compared-title">Now and an hour ago</h2>
      <div class="compared-figures">
        <Late name="now, p99" late={now.late?.p99} mark={trend && <TrendMark trend={trend} />} />
        <Late name="an hour ago, p99" late={before?.late?.p99} isUnknown={before === undefined} />
        <Late name="now, p50" late={now.late?.p50} />
        <Late name="an hour ago, p50" late={before?.late?.p50} isUnknown={before === undefined} />
      </div>
      <p>{comparedText(compared, history)}</p>
      {lateIn(report).map(({ count, atLeast, since }) => (
        <p key="late">
          <a href={lateJobs(report.topic, report.at, report.late)}>{jobsText(count, atLeast)}</a> should have
          started and {count === 1 ? "has" : "have"} not
          {since && (
            <>
              , the oldest since <Time at={since} />
            </>
          )}
          . These do not count above, because they have not started.
        </p>
      ))}
    </section>
  );
}

type LateProps = {
  readonly name: string;
  readonly late: number | undefined;
  readonly isUnknown?: boolean;
  readonly mark?: ComponentChildren;
};

function Late({ name, late, isUnknown, mark }: LateProps) {
  const none = isUnknown ? "unknown" : "no start";
  return (
    <div>
      <span class="quiet">{name}</span>
      <strong>{late === undefined ? none : durationText(late)}</strong>
      {mark}
    </div>
  );
}

function comparedText(compared: Compared, { from, to }: History): string {
  const { now, before } = compared;
  const trend = trendOf(compared);
  const present = now.late
    ? `${jobsText(now.started)} started in the last 10 minutes, ${lateText(now.late)} of their due time, not counting waits for a pause, a limit or a window.`
    : "No job started in the last 10 minutes.";
  if (before === undefined)
    return `${present} Nothing is known of an hour ago: the history begins ${durationText(to - from)} ago.`;
  if (!before.late) return `${present} An hour ago no job started within 10 minutes.`;
  const past = `An hour ago it was ${durationText(before.late.p50)} and ${durationText(before.late.p99)}`;
  return `${present} ${past}${trend ? `: the slowest jobs are now ${trendText(trend)}` : ""}.`;
}
