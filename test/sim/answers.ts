import type { Answer } from "./platform.ts";
import { UNTRACKED } from "./topics.ts";
import type { Asked, Told } from "./witness/bench.ts";
import type { World } from "./world.ts";

const SECOND = 1000;

/** The answers to a call that an untracked topic refuses. Its jobs that are due soon are not stored, and a deployment may have removed it. */
const REFUSALS: readonly unknown[] = ["untracked-topic", "job-not-found", "unknown-topic"];

/** Tells the witness if a call that an untracked topic must refuse was answered in another way. */
export function mustRefuse({ witness }: World, what: string, answer: Answer | undefined): void {
  if (!answer || answer.status >= 500 || REFUSALS.includes(answer.body.code)) return;
  witness.defect(`${what} of an untracked topic was answered: ${JSON.stringify(answer)}`);
}

export type Wish = { delay?: number; dueAt?: string; body?: unknown; spread?: number; maxDelay?: number };

const GRANTED = new Set(["created", "replaced", "postponed"]);

/** Between which times, in ms, the code under test read its clock for a request; and how many seconds later a job may be due. */
type Looked = { from: number; to: number; spread: number };

function askedBy({ delay, dueAt, body, maxDelay }: Wish, { from, to, spread }: Looked): Asked {
  const later = spread * SECOND;
  const time = dueAt === undefined ? undefined : Date.parse(dueAt);
  return {
    body,
    ...(delay !== undefined && { from: from + delay * SECOND, to: to + delay * SECOND + later }),
    ...(time !== undefined && { from: Math.max(time, from), to: Math.max(time, to) + later }),
    ...(time !== undefined && time < from && { past: { time, spread: later } }),
    ...(maxDelay !== undefined && { postponing: { maxDelay: maxDelay * SECOND, from, to } }),
  };
}

type How = { changed: boolean; request?: string | undefined; spread?: number; hasToken?: boolean };

/** Makes a function that tells the witness what an answer promises. `changed`: whether a call without an outcome changed the job. */
export function noterOf(world: World, topic: string) {
  const { timeline, witness } = world;
  return (
    answer: Answer | undefined,
    wish: Wish,
    sentAt: number,
    { changed, request, spread = 0, hasToken }: How,
  ): Told | undefined => {
    if (!answer || answer.status >= 300) return undefined;
    const told = answer.body as unknown as Told;
    // An untracked topic stores no `Idempotency-Key`: a repeat files another job.
    witness.acknowledged(told, UNTRACKED.has(topic) ? undefined : request);
    const granted = told.outcome === undefined ? changed : GRANTED.has(told.outcome);
    const looked = { from: sentAt - world.plan.skew, to: timeline.now() + world.plan.skew, spread };
    if (granted) witness.granted(told, askedBy(wish, looked), hasToken);
    if (!UNTRACKED.has(topic) && told.state === "scheduled") witness.moved(told);
    return told;
  };
}

export type BatchResult = { status: number; job?: Told };

/** As `noterOf`, for the jobs of a batch. `undefined`: no answer came. `token`: the batch's `Idempotency-Key`. */
export function batchNoterOf(note: ReturnType<typeof noterOf>, jobs: readonly Wish[], spread: number) {
  return (
    answer: Answer | undefined,
    token: string | undefined,
    sentAt: number,
  ): BatchResult[] | undefined => {
    if (answer?.status !== 200) return undefined;
    const results = answer.body.results as BatchResult[];
    for (const [i, { status, job }] of results.entries()) {
      const request = token === undefined ? undefined : `${token}§${i}`;
      if (job) note({ status, body: job }, jobs[i] ?? {}, sentAt, { changed: false, request, spread });
    }
    return results;
  };
}
