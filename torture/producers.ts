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
 * Has each producer ask for what it has planned, in order, repeated until there is an answer: POSTs and PATCHes carry an
 * `Idempotency-Key`, due times are absolute, so that a repeat asks for the same.
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
    const results = planned.length === 1 ? [single(answer)] : (answer.body as BatchJson).results;
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
    // Its creation had an answer that is noted as unexpected.
    if (!job) return;
    const { planned, id } = job;
    const at = Date.now();
    const dueAt = "delay" in request ? at + request.delay : at;
    const time = kind === "cancel" ? {} : { dueAt };
    note({ event: "asked", n, version, topic: planned.topic, change: kind, ...time, at });
    const answer = await untilAnswered(() => {
      if (kind === "cancel") return call(url, "DELETE", `/jobs/${id}`);
      const wanted = newJob(planned, version, dueAt);
      // Without one a try whose connection was cut could take effect late, over what was asked for after its repeat.
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

function single(answer: { status: number; body: unknown }) {
  const { status } = answer;
  return [200, 201].includes(status) ? { status, job: answer.body as JobJson } : undefined;
}

/** `undefined`: none that the API documents for a job that exists. */
function outcomeOf({ status, body }: NonNullable<Heard>, id: string): Answered["outcome"] | undefined {
  const { code = "" } = body as Problem;
  if (status === 409) return ["job-running", "job-finished"].includes(code) ? "refused" : undefined;
  if (status !== 200 && status !== 201) return undefined;
  // Another id: the job that had the key had ended.
  return (body as JobJson).id === id ? "applied" : "created";
}

/** Repeats a call for as long as nobody knows what came of it, or of one of its jobs. */
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
