import type { JobSummary } from "../client/answers.ts";
import type { Client } from "../client/client.ts";
import { CLOCK_MARGIN, DAY, LIST_JOBS } from "../core/constants.ts";
import { MinutehandError } from "../core/errors.ts";
import { allOf } from "./lists.ts";

/** Which jobs to follow, and how often to look. Times are ms. */
export type Following = {
  readonly topic?: string;
  /** Jobs that are due at most this long before or after now are followed, and then until they end or are moved far ahead. */
  readonly around: number;
  /** How long to wait between two looks, from `LEAST_WAIT` to `LONGEST_WAIT`. */
  readonly every: number;
  readonly clock: () => number;
  readonly wait: (ms: number) => Promise<void>;
  /** Called with an error after which the next look may succeed: no answer, or a status from 500. Other errors end `follow`. */
  readonly onTrouble: (error: MinutehandError) => void;
};

type Jobs = ReadonlyMap<string, JobSummary>;

/** Half a second: more looks would only cost calls. */
export const LEAST_WAIT = 500;
/** Node fires a timer of more than 24 days at once. */
export const LONGEST_WAIT = DAY;

/** How many jobs one look reads by their ids at most: followed jobs that are no longer in the list, and had not ended before. */
const LOOKED_UP = 50;

/** Yields first the unfinished jobs that are due around now, then each that comes near, starts, fails, is moved or ends. Never ends. */
export async function* follow(api: Client, following: Following): AsyncIterable<JobSummary> {
  const { clock, wait, every, onTrouble } = following;
  let known: Jobs | undefined;
  let lookedAt = 0;
  for (;;) {
    const began = clock();
    try {
      const now = await look(api, following, known ?? new Map());
      const before = known;
      known = now.followed;
      for (const job of now.met) {
        if (before === undefined ? !isFinished(job) : isNews(before.get(job.id), job, lookedAt)) yield job;
      }
      lookedAt = began;
    } catch (error) {
      if (!isTrouble(error)) throw error;
      onTrouble(error);
    }
    await wait(every);
  }
}

/** Reads the jobs that are due around now, and the unfinished ones of `known` that are not. `followed`: what the next look must know. */
async function look(
  api: Client,
  { topic, around, clock }: Following,
  known: Jobs,
): Promise<{ met: JobSummary[]; followed: Jobs }> {
  const [from, to] = [clock() - around, clock() + around];
  const range = { from: new Date(from), to: new Date(to), pageSize: LIST_JOBS };
  const query = { ...range, ...(topic === undefined ? {} : { topic }) };
  const listed = await allOf(api.list(query));
  const followed = new Map(listed.map((job) => [job.id, job]));
  const left = [...known.values()].filter((job) => !followed.has(job.id) && !isFinished(job));
  for (const job of left.slice(LOOKED_UP)) followed.set(job.id, job);
  const looked = await Promise.all(left.slice(0, LOOKED_UP).map(({ id }) => lookUp(api, id)));
  const found = looked.filter((job) => job !== undefined);
  // Drop a job that was moved far ahead. When its new time comes near, the list contains the job again.
  for (const job of found) if (!isFinished(job) && Date.parse(job.dueAt) < to) followed.set(job.id, job);
  return { met: [...listed, ...found], followed };
}

async function lookUp(api: Client, id: string): Promise<JobSummary | undefined> {
  try {
    const { body: _, timeline: __, earlierEventsDropped: ___, ...job } = await api.get(id);
    return job;
  } catch (error) {
    if (error instanceof MinutehandError && error.code === "job-not-found") return undefined;
    throw error;
  }
}

function isFinished({ state }: JobSummary): boolean {
  return state !== "scheduled" && state !== "running";
}

function isNews(before: JobSummary | undefined, job: JobSummary, lookedAt: number): boolean {
  // An unknown job that had ended before the last look is not new: only its due time has come near.
  if (before === undefined) return !(Date.parse(job.finishedAt ?? "") < lookedAt - CLOCK_MARGIN);
  return before.state !== job.state || before.revision !== job.revision || before.claimedAt !== job.claimedAt;
}

/** Whether an error comes from the API or the network, so that the next look may succeed. */
function isTrouble(error: unknown): error is MinutehandError {
  if (!(error instanceof MinutehandError)) return false;
  return error.code === "unavailable" || (error.status ?? 0) >= 500;
}
