import { setTimeout as sleep } from "node:timers/promises";
import { inject } from "vitest";

export type JobView = {
  id: string;
  topic: string;
  state: string;
  dueAt: string;
  revision: number;
  attempt: number;
  body?: unknown;
  key?: string;
  createdAt: string;
  claimedAt?: string;
  finishedAt?: string;
  lastError?: string;
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

/** The API at `url` as its users call it. */
export function apiAt(url: string) {
  const call = async <T = JobView>(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer<T>> => {
    const response = await fetch(url + path, {
      method,
      headers: { "content-type": "application/json", ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, body: JSON.parse(text) as T, headers: response.headers };
  };
  const get = async (id: string): Promise<JobView> => (await call("GET", `/jobs/${id}`)).body;
  return {
    call,
    get,
    /** Files a job, by default with an empty body, and answers it; throws unless it was created. */
    async file(job: object): Promise<JobView> {
      const { status, body } = await call("POST", "/jobs", { body: null, ...job });
      if (status !== 201) throw new Error(`POST /jobs answered ${status}: ${JSON.stringify(body)}`);
      return body;
    },
    /** Resolves when a job is as wanted; throws after `ms`. */
    async until(id: string, wanted: (job: JobView) => boolean, ms: number): Promise<JobView> {
      const end = Date.now() + ms;
      for (;;) {
        const job = await get(id);
        if (wanted(job)) return job;
        if (Date.now() > end) throw new Error(`not as wanted after ${ms} ms: ${JSON.stringify(job)}`);
        await sleep(200);
      }
    },
    /** Pulls until a job with this id comes; throws after `ms`. */
    async pull(topic: string, id: string, ms: number): Promise<Pulled> {
      const end = Date.now() + ms;
      while (Date.now() < end) {
        const { body } = await call<{ jobs: Pulled[] }>("POST", `/topics/${topic}/receive`, {
          max: 1,
          waitSeconds: 2,
        });
        const job = body.jobs.find((pulled) => pulled.id === id);
        if (job) return job;
      }
      throw new Error(`job ${id} did not come within ${ms} ms`);
    },
  };
}

export type Api = ReturnType<typeof apiAt>;

/** The API of the stack that all suites share. */
export function sharedApi(): Api {
  return apiAt(inject("url"));
}
