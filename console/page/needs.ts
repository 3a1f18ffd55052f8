import { actorText } from "../../src/client/actor-text.ts";
import type { Pause } from "../../src/client/holding.ts";
import { lateIn } from "../../src/client/late-in.ts";
import { USUAL_LAG } from "../../src/core/constants.ts";
import type { ScheduleSummary } from "../../src/http/answers/schedules.ts";
import type { TopicJson } from "../../src/http/answers/topics.ts";
import { jobsText } from "./bulk-calls.ts";
import { heldText } from "./parts/pause-topic.tsx";
import { addresses } from "./parts/search.ts";
import { now, zone } from "./state.ts";
import { DAY, durationText, HOUR, isoAt, MINUTE, timeText } from "./times.ts";

export type Need = {
  readonly href: string;
  readonly text: string;
  readonly topic?: string;
  /** `bad`: jobs are late, or have failed for good. `warn`: a person has stopped something. */
  readonly severity: "bad" | "warn";
};

/** What a person should look at, the most urgent first. */
export function needsOf(topics: readonly TopicJson[], schedules: readonly ScheduleSummary[]): Need[] {
  const lag = lagOf(topics);
  const behind = `The sweep is ${durationText(lag)} behind: jobs may start late. Look at the log of the tick.`;
  return [
    ...(lag > USUAL_LAG ? [{ href: addresses.overview, text: behind, severity: "bad" as const }] : []),
    ...topics.flatMap((topic) => lateIn(topic).map((late) => lateNeed(topic, late))),
    ...topics.filter(({ depths }) => depths.dead > 0).map(deadNeed),
    ...topics.flatMap(({ topic, pause }) => (pause?.state === "paused" ? [pauseNeed(topic, pause)] : [])),
    ...schedules
      .filter(({ paused }) => paused)
      .map(({ name }) => ({
        severity: "warn" as const,
        href: addresses.schedule(name),
        text: `The schedule ${name} is paused, and files no jobs.`,
      })),
  ];
}

function lateNeed({ topic, at }: TopicJson, { count, atLeast, since }: TopicJson["late"]): Need {
  const from = since ?? at;
  // A list has at most 31 days.
  const to = isoAt(Math.min(Date.parse(at), Date.parse(from) + 31 * DAY));
  const jobs = atLeast ? `${count.toLocaleString("en")} or more jobs` : jobsText(count);
  const when = `, the oldest since ${timeText(Date.parse(from), now.value, zone.value)}`;
  const text = `${jobs} of ${topic} should have started and have not${when}. Is its consumer running?`;
  return { topic, href: addresses.jobs({ topic, state: "scheduled", from, to }), text, severity: "bad" };
}

function deadNeed({ topic, depths: { dead } }: TopicJson): Need {
  const verbs = dead === 1 ? "is dead and waits" : "are dead and wait";
  const text = `${jobsText(dead)} of ${topic} ${verbs} for a decision. See the errors.`;
  return { topic, href: addresses.dead({ topic }), text, severity: "bad" };
}

function pauseNeed(topic: string, pause: Pause): Need {
  const since = timeText(Date.parse(pause.since), now.value, zone.value);
  const who = pause.by === undefined ? "" : ` by ${actorText(pause.by)}`;
  const holds = pause.parked > 0 ? `, and holds ${heldText(pause.parked)}` : "";
  return {
    topic,
    severity: "warn",
    href: heldJobs(topic, pause),
    text: `${topic} has been paused since ${since}${who}${holds}.`,
  };
}

/**
 * The jobs that were due since an hour before the pause, because they may have waited then, and those of the next hour. At most 31 days.
 */
export function heldJobs(topic: string, { since }: Pause): string {
  const minute = Math.floor(now.value / MINUTE) * MINUTE;
  const from = Math.max(Date.parse(since) - HOUR, minute - 30 * DAY);
  return addresses.jobs({ topic, state: "scheduled", from: isoAt(from), to: isoAt(minute + HOUR) });
}

export function byNeed(topics: readonly TopicJson[], needs: readonly Need[]): TopicJson[] {
  const troubled = new Set(needs.map(({ topic }) => topic));
  const first = [...troubled].flatMap((name) => topics.find(({ topic }) => topic === name) ?? []);
  return [...first, ...topics.filter(({ topic }) => !troubled.has(topic))];
}

/** How far the sweep is behind, ms. */
export function lagOf(topics: readonly TopicJson[]): number {
  return 1000 * Math.max(...topics.map(({ sweepLag }) => sweepLag));
}
