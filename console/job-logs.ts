import type { LogLine } from "../local/log-lines.ts";

/** So many failed jobs keep their lines, each its last lines up to these bounds. */
const FAILED_JOBS = 200;
const LINES_A_JOB = 200;
const CHARACTERS_A_JOB = 128 * 1024;
/** So many other jobs keep their lines: one of them may fail next. */
const OTHER_JOBS = 500;
const FAILURES = ["failed", "threw", "dead"];
/** Events that end a run. */
const ENDS = ["done", "failed", "dead", "cancelled", "expired", "asked-to-retry", "moved"];
/** A crash ends runs without an event, so so many runs of a process, and so many processes, are remembered at most. */
const RUNS_A_PROCESS = 50;
const PROCESSES = 100;

/** `isShared`: the line names no job, and its function ran several jobs when it wrote the line. */
export type JobLogLine = Pick<LogLine, "text" | "at" | "trace"> & { readonly isShared?: boolean };
/** The lines of a job, the oldest first. `isWhole`: false if there may be others. */
export type JobLog = { readonly lines: readonly JobLogLine[]; readonly isWhole: boolean };

export type JobLogs = {
  readonly add: (line: LogLine) => void;
  readonly of: (job: string) => JobLog;
};

/** Keeps the lines of the jobs that failed last in this run of the local stack. The live stream forgets a line after a thousand others. */
export function createJobLogs(): JobLogs {
  const failed = new Map<string, JobLog>();
  const others = new Map<string, JobLog>();
  const runs = new Map<number, ReadonlySet<string>>();
  /** Whether the lines of any job were dropped: they can have been those of a job that has none now. */
  let hasDropped = false;

  function of(job: string): JobLog {
    return failed.get(job) ?? others.get(job) ?? { lines: [], isWhole: !hasDropped };
  }

  function addTo(job: string, line: JobLogLine, event = ""): void {
    const before = of(job);
    // No line of a job is older than that of its filing.
    const isWhole = before.isWhole || (before.lines.length === 0 && event === "enqueued");
    const log = withLine({ ...before, isWhole }, line);
    const hasFailed = failed.has(job) || FAILURES.includes(event);
    others.delete(job);
    const isDropped = keep(hasFailed ? failed : others, job, log, hasFailed ? FAILED_JOBS : OTHER_JOBS);
    hasDropped ||= isDropped;
  }

  return {
    of,
    add({ job, event: record, text, at, trace, pid }) {
      const event = String(record?.type ?? "");
      const line = { text, at, ...(trace !== undefined && { trace }) };
      const running = (pid === undefined ? undefined : runs.get(pid)) ?? new Set();
      if (job === undefined) {
        const isShared = running.size > 1;
        for (const one of running) addTo(one, { ...line, ...(isShared && { isShared }) });
        return;
      }
      addTo(job, line, event);
      if (pid !== undefined) keep(runs, pid, runningAfter(running, job, event), PROCESSES);
    },
  };
}

/** A map begins with the entry that was heard of longest ago. Answers whether that one was dropped. */
function keep<Key, Value>(entries: Map<Key, Value>, key: Key, value: Value, most: number): boolean {
  entries.delete(key);
  entries.set(key, value);
  const [oldest] = entries.keys();
  return entries.size > most && oldest !== undefined && entries.delete(oldest);
}

function runningAfter(running: ReadonlySet<string>, job: string, event: string): ReadonlySet<string> {
  if (event === "started") return new Set([...running, job].slice(-RUNS_A_PROCESS));
  return ENDS.includes(event) ? new Set([...running].filter((one) => one !== job)) : running;
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
