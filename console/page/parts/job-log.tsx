import { type UseQueryResult, useQuery } from "@tanstack/preact-query";
import { useState } from "preact/hooks";
import type { JobJson } from "../../../src/http/answers/jobs.ts";
import { LOGS_PATH } from "../../about.ts";
import type { JobLog, JobLogLine } from "../../job-logs.ts";
import { call, REFRESH_MS } from "../api.ts";
import { withVisibleMarks } from "../direction.ts";
import { kindOf, textOn } from "../live-lines.ts";
import { logLink } from "../log-link.ts";
import { about } from "../server.ts";
import { now, zone } from "../state.ts";
import { clockText, zoneName } from "../times.ts";
import { Failure } from "./loaded.tsx";
import { addresses } from "./search.ts";

export type ReadLog = {
  readonly log: Pick<UseQueryResult<JobLog>, "data" | "error" | "isFetching" | "refetch">;
  /** Reads the log of a deployed queue: each read costs money and needs a right. That of the local stack is read by itself. */
  readonly read: () => void;
  readonly isWanted: boolean;
};

export function useJobLog(id: string): ReadLog {
  // The view stays while another job is opened, and the log of that job is not wanted yet.
  const [wanted, setWanted] = useState("");
  const isWanted = about.hasLive || wanted === id;
  const log = useQuery({
    queryKey: ["job-log", id],
    enabled: isWanted,
    refetchInterval: about.hasLive ? REFRESH_MS : false,
    queryFn: ({ signal }) =>
      call<JobLog>("GET", LOGS_PATH, { lines: "array" }, { query: { job: id }, signal }),
  });
  return { log, isWanted, read: () => setWanted(id) };
}

/** The place at the end of a job's error, such as ` (close-order.ts:12)`. */
const PLACE = / \([^()\n]+:\d+\)$/;

/** The newest stack trace of an error. `undefined` if the log has none: another error may have come after the last trace. */
export function traceOf(error: string, log: JobLog | undefined): string | undefined {
  const [head = ""] = error.replace(PLACE, "").split("\n");
  return log?.lines.findLast(({ trace }) => trace?.includes(head))?.trace;
}

export function LogPanel({ job, reading }: { job: JobJson; reading: ReadLog }) {
  const { log, isWanted, read } = reading;
  const link = logLink(job.logUrl);
  if (!about.hasLive && link === undefined) return null;
  return (
    <section class="panel" aria-labelledby="log-title">
      <h2 id="log-title">Log</h2>
      <div class="buttons">
        {!isWanted && (
          <button type="button" onClick={read}>
            Read the log
          </button>
        )}
        {isWanted && !about.hasLive && !log.error && (
          <button type="button" disabled={log.isFetching} onClick={() => void log.refetch()}>
            {log.isFetching ? "Reading the log …" : "Read the log again"}
          </button>
        )}
        {link !== undefined && (
          <a href={link} target="_blank" rel="noreferrer">
            Open the log of this job in CloudWatch
          </a>
        )}
        {about.hasLive && (
          <a href={addresses.live({ job: job.id })}>Show the lines of this job in the live log</a>
        )}
      </div>
      {!isWanted && (
        <p class="quiet">
          The lines are read with your own AWS credentials, which need the permission{" "}
          <code>logs:FilterLogEvents</code>. CloudWatch charges for what it searches.
        </p>
      )}
      {log.data === undefined && log.error && (
        <Failure error={log.error} what="the log" again={() => void log.refetch()} />
      )}
      {log.data && <Lines log={log.data} />}
    </section>
  );
}

function Lines({ log: { lines, isWhole } }: { log: JobLog }) {
  if (lines.length === 0)
    return (
      <p class="quiet">
        {about.hasLive
          ? "No line names this job. The stack keeps the lines of the 200 jobs that failed last, and of 500 others, since its start."
          : "No line of the log names this job. A line can take some seconds until CloudWatch shows it."}
      </p>
    );
  return (
    <>
      {!isWhole && <p class="quiet">These are not all lines: only so many are kept or read.</p>}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: whoever has no pointer scrolls the lines with the arrow keys */}
      <section class="text-block log-lines" aria-label="Lines of the log" tabIndex={0}>
        {lines.map((line, index) => (
          <Line key={`${line.at} ${index}`} line={line} />
        ))}
      </section>
      <p class="quiet">
        The times are {zoneName(now.value, zone.value)}.{" "}
        {about.hasLive
          ? "Shown are the lines that name the job's id, and what its function wrote while the job ran."
          : "Only lines that name the job's id are shown."}
        {lines.some(({ isShared }) => isShared) &&
          " The function ran other jobs at the same time, so a grey line may be of one of these."}
      </p>
    </>
  );
}

function Line({ line }: { line: JobLogLine }) {
  const text = withVisibleMarks(textOn(clockText(line.at, zone.value), line));
  const [head = "", ...rest] = text.split("\n");
  const kind = line.isShared ? "quiet" : kindOf(line);
  if (rest.length === 0) return <pre class={`text log-line ${kind}`}>{head}</pre>;
  return (
    <details>
      <summary class={`log-line ${kind}`}>{head}</summary>
      <pre class="text">{rest.join("\n")}</pre>
    </details>
  );
}
