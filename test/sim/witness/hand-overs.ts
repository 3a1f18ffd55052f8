import { type MessageJob, startOf } from "../../../src/core/message.ts";
import type { Weather } from "../faults.ts";
import type { Court } from "./bench.ts";
import type { KnownJobs } from "./known-jobs.ts";
import type { limitsOf } from "./limits.ts";
import type { windowsOf } from "./windows.ts";

/** `isAnswered`: else the sender repeats it. `knowsTopic`: else it knows no window, and a puller may still send single jobs of it later. */
export type Sent = {
  topic: string;
  carried: readonly MessageJob[];
  /** When the message can be received: ms since the epoch. */
  visibleAt: number;
  isAnswered: boolean;
  knowsTopic: boolean;
};

type Scene = Court & {
  jobs: KnownJobs;
  limits: ReturnType<typeof limitsOf>;
  windows: ReturnType<typeof windowsOf>;
  weather: Weather;
  longestSend: number;
};

/** Judges messages: none may let a job start while its topic's window is closed, or take a second start of its limit. */
export function handOversOf({ violate, jobs, limits, windows, weather, longestSend }: Scene) {
  /** Jobs and starts in messages that were sent while the sender's deployment did not have the topic. */
  const sentUnknowing = new Set<string>();
  return {
    judgeWindow(job: MessageJob, { topic, knowsTopic }: Sent): void {
      const { home } = jobs.of(job.id);
      // The message of a crashed run only makes a consumer settle the run.
      const isToRun = home?.state === "scheduled" && home.revision === job.revision;
      const begins = Math.max(startOf(job), Date.parse(job.sentAt ?? job.dueAt));
      const sent = `${job.id} ${job.revision} ${begins}`;
      if (!knowsTopic) sentUnknowing.add(sent);
      const isHeld = isToRun && !sentUnknowing.has(sent);
      if (isHeld && !windows.wasOpen(topic, begins - longestSend, begins))
        violate("window", job.id, `handed over to start at ${begins}, out of its window`);
    },
    noteStart(job: MessageJob): void {
      const [{ handedOff }, start] = [jobs.of(job.id), startOf(job)];
      for (const name of [`revision ${job.revision}`, `due ${Date.parse(job.dueAt)}`]) {
        const { from, to } = handedOff.get(name) ?? { from: start, to: start };
        handedOff.set(name, { from: Math.min(from, start), to: Math.max(to, start) });
      }
    },
    judgeStarts({ topic, carried, visibleAt }: Sent): void {
      limits.sent(topic, carried, visibleAt);
      // A slow sender may send a start that the job's home does not have any more.
      const asNoted = carried.filter(({ id, ...job }) => {
        const { home } = jobs.of(id);
        return home ? startOf(job) === (home.heldUntil ?? startOf(job)) : weather === "calm";
      });
      for (const { id, heldUntil } of limits.startedAnew(topic, asNoted))
        violate("P6", id, `given a second start of its limit, at ${heldUntil}, while the first is ahead`);
    },
  };
}
