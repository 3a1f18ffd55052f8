import { setTimeout as sleep } from "node:timers/promises";
import { call, type Heard } from "./call.ts";
import { type Answered, type LedgerEvent, record } from "./ledger.ts";
import type { Body, PlannedJob, Request } from "./load.ts";

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 2_000;

type JobJson = { id: string; outcome?: string };
type Problem = { code?: string };
type BatchJson = { results: { status: number; job?: JobJson; error?: Problem }[] };

export type Producers = {
  /** Resolves when each request has its answer. */
  readonly finished: Promise<void>;
};

/**
 * Starts the producers. Each makes its planned requests in order, and repeats a request until it has an answer. A repeat asks for the
 * same: POSTs and PATCHes have an `Idempotency-Key`, and due times are absolute.
 */
export function startProducers(url: string, plans: readonly Request[][], file: string): Producers {
  const began = Date.now();
  const jobs = new Map<number, { planned: PlannedJob; id: string }>();
  const note = (event: LedgerEvent) => record(file, event);
  return { finished: Promise.all(plans.map(produce)).then(() => {}) };

  async function produce(requests: readonly Request[]): Promise<void> {
    for (const request of requests) {
      await sleep(Math.max(0, began + request.at - Date.now()));
      if (request.kind === "create") await create(request.jobs);
      else await change(request);
    }
  }

  async function create(planned: readonly PlannedJob[]): Promise<void> {
    const [first] = planned;
    if (!first) return;
    const at = Date.now();
    const dueAts = planned.map(({ delay }) => at + delay);
    for (const [i, { n, topic }] of planned.entries())
      note({ event: "asked", n, version: 0, topic, change: "create", dueAt: dueAts[i] ?? at, at });
    const wanted = planned.map((job, i) => newJob(job, 0, dueAts[i] ?? at));
    const [path, body] = planned.length === 1 ? ["/jobs", wanted[0]] : ["/jobs/batch", { jobs: wanted }];
    const token = { "idempotency-key": `torture-${first.n}-0` };
    const answer = await untilAnswered(() => call(url, "POST", path, body, token));
    const results = planned.length === 1 ? [resultOfOne(answer)] : (answer.body as BatchJson).results;
    for (const [i, job] of planned.entries()) {
      const result = results?.[i];
      const { n } = job;
      if (result?.job && (result.status === 201 || result.status === 200)) {
        jobs.set(n, { planned: job, id: result.job.id });
        note({ event: "answered", n, version: 0, outcome: "created", id: result.job.id, at: Date.now() });
      } else
        note({
          event: "unexpected",
          n,
          what: `${path}: ${JSON.stringify(result ?? answer)}`,
          at: Date.now(),
        });
    }
  }

  async function change(request: Exclude<Request, { kind: "create" }>): Promise<void> {
    const { n, version, kind } = request;
    const job = jobs.get(n);
    // The job was not created: that answer is recorded as unexpected.
    if (!job) return;
    const { planned, id } = job;
    const at = Date.now();
    const dueAt = "delay" in request ? at + request.delay : at;
    const time = kind === "cancel" ? {} : { dueAt };
    note({ event: "asked", n, version, topic: planned.topic, change: kind, ...time, at });
    const answer = await untilAnswered(() => {
      if (kind === "cancel") return call(url, "DELETE", `/jobs/${id}`);
      const wanted = newJob(planned, version, dueAt);
      // Without the key, a try whose connection was cut could take effect late, and overwrite a later change.
      const token = { "idempotency-key": `torture-${n}-${version}` };
      if (kind === "replace") return call(url, "POST", "/jobs", { ...wanted, onDuplicate: "replace" }, token);
      return call(url, "PATCH", `/jobs/${id}`, { dueAt: wanted.dueAt, body: wanted.body }, token);
    });
    const outcome = outcomeOf(answer, id);
    if (!outcome)
      return note({ event: "unexpected", n, what: `${kind}: ${JSON.stringify(answer)}`, at: Date.now() });
    const now = (answer.body as Partial<JobJson>).id ?? id;
    if (outcome === "created") jobs.set(n, { planned, id: now });
    note({ event: "answered", n, version, outcome, id: outcome === "refused" ? id : now, at: Date.now() });
  }
}

function newJob({ n, topic, keyed, takes, fails }: PlannedJob, version: number, dueAt: number) {
  const body: Body = { n, version, takes, fails };
  const key = keyed ? { key: `torture-${n}` } : {};
  return { topic, dueAt: new Date(dueAt).toISOString(), body, ...key };
}

function resultOfOne(answer: { status: number; body: unknown }) {
  const { status } = answer;
  return [200, 201].includes(status) ? { status, job: answer.body as JobJson } : undefined;
}

/** The outcome of a change. `undefined` if the API does not document such an answer for a job that exists. */
function outcomeOf({ status, body }: NonNullable<Heard>, id: string): Answered["outcome"] | undefined {
  const { code = "" } = body as Problem;
  if (status === 409) return ["job-running", "job-finished"].includes(code) ? "refused" : undefined;
  if (status !== 200 && status !== 201) return undefined;
  // Another id: the key's old job had ended, and a new job was created.
  return (body as JobJson).id === id ? "applied" : "created";
}

/** Repeats a call, with exponential backoff and jitter, while its outcome or that of one of its jobs is unknown. */
async function untilAnswered(ask: () => Promise<Heard>): Promise<NonNullable<Heard>> {
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    const answer = await ask();
    if (answer && !isUnknown(answer)) return answer;
    await sleep(pause * (0.5 + Math.random() / 2));
  }
}

function isUnknown({ status, body }: NonNullable<Heard>): boolean {
  const { results } = body as Partial<BatchJson>;
  return status >= 500 || status === 429 || (results ?? []).some((result) => result.status >= 500);
}
