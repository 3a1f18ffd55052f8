import { setTimeout as sleep } from "node:timers/promises";
import { call, type Heard } from "./call.ts";
import { type Answered, record } from "./ledger.ts";
import type { Body, PlannedJob, Request } from "./load.ts";

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 2_000;

type JobJson = { id: string; outcome?: string };
type Problem = { code?: string };
type BatchJson = { results: { status: number; job?: JobJson; error?: Problem }[] };

export type Producers = {
  readonly finished: Promise<void>;
};

type Run = {
  readonly url: string;
  readonly file: string;
  readonly began: number;
  readonly jobs: Map<number, { planned: PlannedJob; id: string }>;
};

/**
 * Requests of a producer come in order, each until it has an answer. Repeats ask for the same, by an `Idempotency-Key` and absolute due
 * times.
 */
export function startProducers(url: string, plans: readonly Request[][], file: string): Producers {
  const run: Run = { url, file, began: Date.now(), jobs: new Map() };
  return { finished: Promise.all(plans.map((requests) => produce(run, requests))).then(() => {}) };
}

async function produce(run: Run, requests: readonly Request[]): Promise<void> {
  for (const request of requests) {
    await sleep(Math.max(0, run.began + request.at - Date.now()));
    if (request.kind === "create") await create(run, request.jobs);
    else await change(run, request);
  }
}

function noteUnexpected({ file }: Run, n: number, what: string): void {
  record(file, { event: "unexpected", n, what, at: Date.now() });
}

async function create(run: Run, planned: readonly PlannedJob[]): Promise<void> {
  const [first] = planned;
  if (!first) return;
  const at = Date.now();
  const dueAts = planned.map(({ delay }) => at + delay);
  for (const [i, { n, topic }] of planned.entries())
    record(run.file, { event: "asked", n, version: 0, topic, change: "create", dueAt: dueAts[i] ?? at, at });
  const wanted = planned.map((job, i) => newJob(job, 0, dueAts[i] ?? at));
  const [path, body] = planned.length === 1 ? ["/jobs", wanted[0]] : ["/jobs/batch", { jobs: wanted }];
  const token = { "idempotency-key": `torture-${first.n}-0` };
  const answer = await untilAnswered(() => call(run.url, "POST", path, body, token));
  const results = planned.length === 1 ? [resultOfOne(answer)] : (answer.body as BatchJson).results;
  for (const [i, job] of planned.entries()) {
    const result = results?.[i];
    if (isCreated(result)) noteCreated(run, job, result.job.id);
    else noteUnexpected(run, job.n, `${path}: ${JSON.stringify(result ?? answer)}`);
  }
}

type Result = BatchJson["results"][number];

function isCreated(result: Result | undefined): result is Result & { job: JobJson } {
  return result?.job !== undefined && (result.status === 201 || result.status === 200);
}

function noteCreated({ file, jobs }: Run, planned: PlannedJob, id: string): void {
  jobs.set(planned.n, { planned, id });
  record(file, { event: "answered", n: planned.n, version: 0, outcome: "created", id, at: Date.now() });
}

type Change = Exclude<Request, { kind: "create" }>;

async function change(run: Run, request: Change): Promise<void> {
  const { file, jobs } = run;
  const { n, version, kind } = request;
  const job = jobs.get(n);
  // The job was not created: that answer is recorded as unexpected.
  if (!job) return;
  const { planned, id } = job;
  const at = Date.now();
  const dueAt = "delay" in request ? at + request.delay : at;
  const time = kind === "cancel" ? {} : { dueAt };
  record(file, { event: "asked", n, version, topic: planned.topic, change: kind, ...time, at });
  const wanted = newJob(planned, version, dueAt);
  const answer = await untilAnswered(() => callForChange(run.url, request, id, wanted));
  const outcome = outcomeOf(answer, id);
  if (!outcome) return noteUnexpected(run, n, `${kind}: ${JSON.stringify(answer)}`);
  const now = (answer.body as Partial<JobJson>).id ?? id;
  if (outcome === "created") jobs.set(n, { planned, id: now });
  const answered = outcome === "refused" ? id : now;
  record(file, { event: "answered", n, version, outcome, id: answered, at: Date.now() });
}

function callForChange(
  url: string,
  { n, version, kind }: Change,
  id: string,
  wanted: Wanted,
): Promise<Heard> {
  if (kind === "cancel") return call(url, "DELETE", `/jobs/${id}`);
  // Without the key, a try whose connection was cut could take effect late, and overwrite a later change.
  const token = { "idempotency-key": `torture-${n}-${version}` };
  if (kind === "replace") return call(url, "POST", "/jobs", { ...wanted, onDuplicate: "replace" }, token);
  return call(url, "PATCH", `/jobs/${id}`, { dueAt: wanted.dueAt, body: wanted.body }, token);
}

type Wanted = ReturnType<typeof newJob>;

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
