import type { IncomingMessage, ServerResponse } from "node:http";
import type { LogLine } from "../local/log-lines.ts";

/** So many failed jobs keep their lines, each its last lines up to these bounds. */
const FAILED_JOBS = 200;
const LINES_A_JOB = 200;
const CHARACTERS_A_JOB = 128 * 1024;
/** So many other jobs keep their lines: one of them may fail next. */
const OTHER_JOBS = 500;
const FAILURES = ["failed", "threw", "dead"];

export type JobLogLine = Pick<LogLine, "text" | "at" | "trace">;
/** The lines of a job, the oldest first. `isWhole`: false if there may be others. */
export type JobLog = { readonly lines: readonly JobLogLine[]; readonly isWhole: boolean };

export type JobLogs = {
  readonly add: (line: LogLine) => void;
  readonly of: (job: string) => JobLog;
  readonly answer: (request: IncomingMessage, response: ServerResponse) => void;
};

/** Keeps the lines of the jobs that failed last in this run of the local stack. The live stream forgets a line after a thousand others. */
export function createJobLogs(): JobLogs {
  const failed = new Map<string, JobLog>();
  const others = new Map<string, JobLog>();

  function of(job: string): JobLog {
    return failed.get(job) ?? others.get(job) ?? { lines: [], isWhole: true };
  }

  return {
    of,
    add({ job, event = "", text, at, trace }) {
      if (job === undefined) return;
      const log = withLine(of(job), { text, at, ...(trace !== undefined && { trace }) });
      const hasFailed = failed.has(job) || FAILURES.includes(event);
      others.delete(job);
      keep(hasFailed ? failed : others, job, log, hasFailed ? FAILED_JOBS : OTHER_JOBS);
    },
    answer(request, response) {
      const { searchParams } = new URL(request.url ?? "", "http://localhost");
      const body = Buffer.from(JSON.stringify(of(searchParams.get("job") ?? "")));
      response.writeHead(200, {
        "content-type": "application/json",
        "content-length": body.length,
        "cache-control": "no-store",
        "x-content-type-options": "nosniff",
        "cross-origin-resource-policy": "same-origin",
      });
      response.end(request.method === "HEAD" ? undefined : body);
    },
  };
}

/** A map begins with the job that was heard of longest ago. */
function keep(jobs: Map<string, JobLog>, job: string, log: JobLog, most: number): void {
  jobs.delete(job);
  jobs.set(job, log);
  const [oldest] = jobs.keys();
  if (jobs.size > most && oldest !== undefined) jobs.delete(oldest);
}

function withLine({ lines, isWhole }: JobLog, line: JobLogLine): JobLog {
  const all = [...lines, line];
  let left = all.reduce((sum, { text, trace = "" }) => sum + text.length + trace.length, 0);
  let first = Math.max(0, all.length - LINES_A_JOB);
  for (const { text, trace = "" } of all.slice(0, -1).slice(first)) {
    if (left <= CHARACTERS_A_JOB) break;
    left -= text.length + trace.length;
    first += 1;
  }
  return { lines: all.slice(first), isWhole: isWhole && first === 0 };
}
