import { setTimeout as sleep } from "node:timers/promises";
import { greatest, percentile } from "../../../tools/bench/statistics.ts";
import type { Api, JobView } from "../../e2e/api.ts";
import { PATIENCE_MS } from "../../patience.ts";

const SECOND = 1000;
const PER_KIND = 200;
const PAGE = 100;

/** The kinds of jobs, by their way to the consumer. `due`: in how many seconds the first job and the last job of a kind are due. */
const KINDS = [
  { kind: "millisecond topic, filed shortly before due", topic: "precise", due: [20, 50] },
  { kind: "filed shortly before due", topic: "reminders", due: [20, 50] },
  { kind: "handed over by the tick", topic: "reminders", due: [220, 270] },
] as const;

/** How late the jobs of one kind were claimed, in ms. `missing`: how many jobs were not done when the measurement ended. */
export type Lateness = {
  kind: string;
  p50: number;
  p99: number;
  most: number;
  jobs: number;
  missing: number;
};

export async function measureLateness(api: Api, run: string): Promise<Lateness[]> {
  const now = Date.now();
  const filed = KINDS.map(({ kind, topic, due: [first, last] }, i) => {
    const step = ((last - first) * SECOND) / PER_KIND;
    const tag = `${run}-${i}`;
    const jobs = Array.from({ length: PER_KIND }, (_, n) => {
      const dueAt = new Date(now + first * SECOND + Math.round(n * step)).toISOString();
      return { topic, dueAt, tag, body: { text: kind } };
    });
    return { kind, topic, tag, jobs, from: now + first * SECOND, to: now + last * SECOND };
  });
  for (const { jobs } of filed) {
    const { status, body } = await api.call<{ results: { status: number }[] }>("POST", "/jobs/batch", {
      jobs,
    });
    if (status !== 200 || body.results.some((one) => one.status !== 201))
      throw new Error(`POST /jobs/batch answered ${status}: ${JSON.stringify(body).slice(0, 500)}`);
  }
  const end = Math.max(...filed.map(({ to }) => to)) + PATIENCE_MS;
  await sleep(Math.max(...filed.map(({ to }) => to)) - Date.now());
  for (;;) {
    const done = await Promise.all(
      filed.map(({ topic, tag, from, to }) => doneOf(api, { topic, tag, from, to })),
    );
    if (done.every((jobs) => jobs.length === PER_KIND) || Date.now() > end)
      return filed.map(({ kind }, i) => latenessOf(kind, done[i] ?? []));
    await sleep(2 * SECOND);
  }
}

async function doneOf(
  api: Api,
  { topic, tag, from, to }: { topic: string; tag: string; from: number; to: number },
): Promise<JobView[]> {
  const range = { from: new Date(from).toISOString(), to: new Date(to + SECOND).toISOString() };
  const done: JobView[] = [];
  let cursor: string | undefined;
  do {
    const query = new URLSearchParams({
      topic,
      tag,
      state: "done",
      limit: `${PAGE}`,
      ...range,
      ...(cursor === undefined ? {} : { cursor }),
    });
    const { status, body } = await api.call<{ jobs: JobView[]; cursor?: string }>("GET", `/jobs?${query}`);
    if (status !== 200) throw new Error(`GET /jobs answered ${status}: ${JSON.stringify(body)}`);
    done.push(...body.jobs);
    cursor = body.cursor;
  } while (cursor !== undefined);
  return done;
}

function latenessOf(kind: string, jobs: readonly JobView[]): Lateness {
  const late = jobs.map(({ claimedAt = "", dueAt }) => Date.parse(claimedAt) - Date.parse(dueAt));
  return {
    kind,
    p50: percentile(late, 0.5),
    p99: percentile(late, 0.99),
    most: greatest(late),
    jobs: jobs.length,
    missing: PER_KIND - jobs.length,
  };
}
