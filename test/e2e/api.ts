import { setTimeout as sleep } from "node:timers/promises";
import { inject } from "vitest";
import { PATIENCE_MS } from "../patience.ts";
import { cannot } from "./places.ts";
import { inTurn, type Send, senderTo, unsigned } from "./senders.ts";
import type { Target } from "./target.ts";

export type JobView = {
  id: string;
  topic: string;
  state: string;
  dueAt: string;
  revision: number;
  attempt: number;
  body?: unknown;
  key?: string;
  tag?: string;
  createdAt: string;
  claimedAt?: string;
  finishedAt?: string;
  heldUntil?: string;
  postponeUntil?: string;
  lastError?: string;
  timeline?: { event: string }[];
};

export type Pulled = {
  id: string;
  receipt: string;
  attempt: number;
  dueAt: string;
  body: unknown;
  leaseUntil: string;
};

export type Answer<T> = { status: number; body: T; headers: Headers };

/** Calls the API as its users do. `get`, `until` and `dueAt` throw if a job was claimed before it was due. */
export function apiOver(send: Send) {
  const call: Call = async (method, path, body, headers = {}) => {
    const response = await send(path, {
      method,
      headers: { "content-type": "application/json", ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, body: JSON.parse(text), headers: response.headers };
  };
  return {
    call,
    get: (id: string) => getJob(call, id),
    /** Files a job, by default with the body `null`, and answers the job. Throws if it was not created. */
    async file(job: object): Promise<JobView> {
      const { status, body } = await call("POST", "/jobs", { body: null, ...job });
      if (status !== 201) throw new Error(`POST /jobs answered ${status}: ${JSON.stringify(body)}`);
      return body;
    },
    /** All jobs, in any state, whose `dueAt` is `time`. */
    dueAt: (time: string) => listDueAt(call, time),
    until: (id: string, wanted: (job: JobView) => boolean) => readUntil(call, id, wanted),
    pull: (topic: string, id: string) => pullOne(call, topic, id),
  };
}

type Call = <T = JobView>(
  method: string,
  path: string,
  body?: unknown,
  headers?: Record<string, string>,
) => Promise<Answer<T>>;

async function getJob(call: Call, id: string): Promise<JobView> {
  const { body } = await call("GET", `/jobs/${id}`);
  assertNotEarly(body);
  return body;
}

async function listDueAt(call: Call, time: string): Promise<JobView[]> {
  const to = new Date(Date.parse(time) + 1).toISOString();
  const jobs: JobView[] = [];
  for (let cursor: string | undefined, page = ""; ; page = `&cursor=${cursor}`) {
    const path = `/jobs?from=${time}&to=${to}&limit=1000${page}`;
    const { body } = await call<{ jobs: JobView[]; cursor?: string }>("GET", path);
    body.jobs.forEach(assertNotEarly);
    jobs.push(...body.jobs);
    cursor = body.cursor;
    if (cursor === undefined) return jobs;
  }
}

async function readUntil(call: Call, id: string, wanted: (job: JobView) => boolean): Promise<JobView> {
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    const job = await getJob(call, id);
    if (wanted(job)) return job;
    if (Date.now() > end) throw new Error(`the job did not become as expected: ${JSON.stringify(job)}`);
    await sleep(200);
  }
}

async function pullOne(call: Call, topic: string, id: string): Promise<Pulled> {
  const end = Date.now() + PATIENCE_MS;
  while (Date.now() < end) {
    const { body } = await call<{ jobs: Pulled[] }>("POST", `/topics/${topic}/receive`, {
      max: 1,
      waitSeconds: 2,
    });
    const job = body.jobs.find((pulled) => pulled.id === id);
    if (job) return job;
  }
  throw new Error(`job ${id} did not come`);
}

export type Api = ReturnType<typeof apiOver>;

/** Looks only at running and done jobs, whose `dueAt` is that of their claim: a retry or a redrive gives a later one. */
function assertNotEarly({ id, state, dueAt, claimedAt }: JobView): void {
  if (claimedAt === undefined || (state !== "running" && state !== "done")) return;
  if (Date.parse(claimedAt) < Date.parse(dueAt))
    throw new Error(`job ${id} was claimed at ${claimedAt}, before it was due at ${dueAt}`);
}

export function apiAt(url: string): Api {
  return apiOver(unsigned(url));
}

export function apiOf({ place, api }: Target): Api {
  const send = senderTo(api);
  return apiOver(cannot(place, "bursts") ? inTurn(send) : send);
}

export function sharedApi(): Api {
  return apiOf(inject("target"));
}
