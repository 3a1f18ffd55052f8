import type { Policy } from "../../../src/settings/policy.ts";
import type { Weather } from "../faults.ts";
import type { Court, Run } from "./bench.ts";
import { LONGEST_CLAIM } from "./bounds.ts";
import type { bulksOf } from "./bulks.ts";
import type { KnownJobs } from "./known-jobs.ts";
import type { limitsOf } from "./limits.ts";
import type { pausesOf } from "./pauses.ts";
import { lateWhenAsked } from "./reasons.ts";
import type { windowsOf } from "./windows.ts";

/** ms by which one tick that dies can delay a job whose start a release gives: the next tick sends the job. */
const TICK_MISSED = 62_000;

type Scene = Court & {
  jobs: KnownJobs;
  topics: Policy["topics"];
  untracked: ReadonlySet<string>;
  weather: Weather;
  latest: (id: string) => number;
  unwanted: string;
  pauses: ReturnType<typeof pausesOf>;
  limits: ReturnType<typeof limitsOf>;
  windows: ReturnType<typeof windowsOf>;
  bulks: ReturnType<typeof bulksOf>;
};

export function runTimesOf(scene: Scene) {
  const { clock, jobs, limits, pauses } = scene;
  const notes = jobs.notes(() => ({ startedAt: undefined as number | undefined }));
  const lateness: number[] = [];
  return {
    lateness,
    startedAt: (id: string): number | undefined => notes(id).startedAt,
    /** A handler starts a job. `now`: the time by its machine's clock. */
    started(run: Run, now: number): void {
      const { id, topic, dueAt } = run;
      const { from, to } = startsOf(scene, run);
      const late = clock() - freeAt(scene, topic, to);
      notes(id).startedAt ??= clock();
      // Only SQS knows when an untracked job that asked for a retry is due again, so its later runs are not judged.
      const again = scene.untracked.has(topic) && jobs.of(id).starts.size > 0;
      const isJudged = !again && !isRefused(scene, id);
      if (isJudged) lateness.push(late);
      if (isJudged && late > mostOf(scene, run, to)) scene.violate("P3", id, `started ${late} ms late`);
      limits.ran(topic);
      if (!again) limits.started({ id, topic, dueAt, start: to });
      if (now < from) scene.violate("P2", id, `started ${from - now} ms early`);
      const { home } = jobs.of(id);
      judgeIfLate(scene, run, late + (home ? lateWhenAsked(home) : 0));
      const after = pauses.tooLate(topic);
      if (after !== undefined)
        scene.violate("pause", id, `started ${after} ms after its topic had to be quiet`);
    },
    /** When a topic's job that would start at `time` may start at the latest, given the topic's pauses and its window. */
    freeAt: (topic: string, time: number): number => freeAt(scene, topic, time),
    judge(): void {
      // The rate of a resume holds jobs too, so topics that were ever paused are not judged. With faults, an outage may last long.
      const waited = scene.weather === "calm" ? limits.waitedTooLong(scene.windows.openFor) : [];
      for (const { id, topic, dueAt, start } of waited)
        if (!pauses.disturb(topic)) scene.violate("P3", id, `was held for ${start - dueAt} ms`);
    },
  };
}

function freeAt({ windows, pauses }: Scene, topic: string, time: number): number {
  return windows.opensAt(topic, pauses.freeAt(topic, time));
}

function startsOf({ jobs, untracked }: Scene, { id, topic, dueAt }: Run): { from: number; to: number } {
  const { home, handedOff } = jobs.of(id);
  // The run of an untracked job does not say its revision, so the due time finds its messages.
  const name = untracked.has(topic) ? `due ${dueAt}` : `revision ${home?.revision}`;
  // A postponed job may keep a start that has just passed: then its message of the revision before runs it.
  return handedOff.get(name) ?? { from: dueAt, to: Math.max(dueAt, home?.heldUntil ?? 0) };
}

/** Whether SQS refused messages of a job for their text. If the job is changed later, another message can start it late. */
function isRefused({ jobs, unwanted }: Scene, id: string): boolean {
  return jobs.of(id).revisions.some(({ body }) => body.includes(unwanted));
}

/** How many ms a run may be late. */
function mostOf({ topics, pauses, bulks, latest, weather }: Scene, run: Run, start: number): number {
  if (bulks.isMark(run.dueAt)) return Number.POSITIVE_INFINITY;
  // Releases give the starts of a limit, and those of a resume with a rate.
  const isReleased =
    topics[run.topic]?.maxPerSecond !== undefined || (start > run.dueAt && pauses.disturb(run.topic));
  return Math.max(latest(run.id), isReleased && weather === "one fault" ? TICK_MISSED : 0);
}

function judgeIfLate({ topics, skew, violate }: Scene, { id, topic }: Run, late: number): void {
  const { ifLate } = topics[topic] ?? {};
  if (ifLate && late > ifLate.after * 1000 + LONGEST_CLAIM + skew)
    violate("ifLate", id, `ran ${late} ms late`);
}
