import { actorText } from "../../src/client/actor-text.ts";
import type { Pause } from "../../src/client/holding.ts";
import { lateIn } from "../../src/client/late-in.ts";
import { LONGEST_LIST, USUAL_LAG } from "../../src/core/constants.ts";
import { THROTTLED } from "../../src/core/thrown.ts";
import type { ScheduleSummary } from "../../src/http/answers/schedules.ts";
import type { TopicJson } from "../../src/http/answers/topics.ts";
import type { HistoryAnswer } from "../history.ts";
import { jobsText } from "./bulk-calls.ts";
import { withVisibleMarks } from "./direction.ts";
import { compare, minutesOf, NOW_MS, startsMuchLater } from "./history-spans.ts";
import { heldText } from "./parts/pause-topic.tsx";
import { addresses } from "./parts/search.ts";
import type { Topic } from "./reads.ts";
import { about } from "./server.ts";
import { now, zone } from "./state.ts";
import { DAY, durationText, HOUR, isoAt, MINUTE, relativeText, timeText } from "./times.ts";

export type Need = {
  readonly kind: "sweep" | "late" | "later" | "schedule" | "dead" | "letters" | "retrying" | "paused";
  /** `bad`: jobs are late, or have failed for good. `warn`: a person has stopped something, or it may settle by itself. */
  readonly severity: "bad" | "warn";
  readonly href: string;
  readonly text: string;
  /** What helps to settle it. */
  readonly more?: string;
  /** The topic or the schedule. */
  readonly of?: string;
};

/** What a person should look at, the most urgent first. */
export function needsOf(
  topics: readonly Topic[],
  schedules: readonly ScheduleSummary[],
  history: HistoryAnswer | undefined,
): Need[] {
  const late = topics.flatMap((topic) => lateIn(topic).map((jobs) => ({ topic, jobs })));
  return [
    ...sweepNeeds(topics),
    ...late.sort((a, b) => b.jobs.count - a.jobs.count).map(({ topic, jobs }) => lateNeed(topic, jobs)),
    ...topics.filter((topic) => lateIn(topic).length === 0).flatMap((topic) => laterNeeds(topic, history)),
    ...schedules.flatMap((schedule) => lostScheduleNeeds(schedule, topics)),
    ...topics
      .filter(({ dead }) => dead.count > 0)
      .sort((a, b) => b.dead.count - a.dead.count)
      .map(deadNeed),
    ...topics.filter((topic) => lettersOf(topic) > 0).map(lettersNeed),
    ...topics
      .filter(({ retrying }) => (retrying?.count ?? 0) > 0)
      .sort((a, b) => b.retrying.count - a.retrying.count)
      .map(retryingNeed),
    ...topics.flatMap(({ topic, pause }) => (pause?.state === "paused" ? [pauseNeed(topic, pause)] : [])),
    ...schedules.filter(({ paused }) => paused).map(pausedScheduleNeed),
  ];
}

function sweepNeeds(topics: readonly TopicJson[]): Need[] {
  // How far the sweep is behind, ms.
  const lag = 1000 * Math.max(...topics.map(({ sweepLag }) => sweepLag));
  if (lag <= USUAL_LAG) return [];
  return [
    {
      kind: "sweep",
      severity: "bad",
      href: about.hasLive ? addresses.live() : addresses.time(),
      text: `The sweep is ${durationText(lag)} behind: jobs may start late.`,
      more: "Look at the log of the tick.",
    },
  ];
}

const CONSUMER_QUESTIONS = {
  lambda: "Does its function run?",
  pull: "Do its workers run?",
  webhook: "Does its server answer?",
} as const;

function lateNeed({ topic, at, policy }: TopicJson, late: TopicJson["late"]): Need {
  const { count, atLeast, since } = late;
  const verb = count === 1 && !atLeast ? "has" : "have";
  const when = `, the oldest since ${timeText(Date.parse(since ?? at), now.value, zone.value)}`;
  return {
    kind: "late",
    severity: "bad",
    of: topic,
    href: lateJobs(topic, at, late),
    text: `${jobsText(late.count, late.atLeast)} of ${topic} should have started and ${verb} not${when}.`,
    more: CONSUMER_QUESTIONS[policy.consumer],
  };
}

/** The API calls jobs late that have not started. Those that have started late are only in the history. */
function laterNeeds({ topic }: TopicJson, history: HistoryAnswer | undefined): Need[] {
  // A history that was read earlier says nothing about the present.
  if (history === undefined || "why" in history || history.to < now.value - NOW_MS) return [];
  const compared = compare(history, minutesOf(history, topic));
  if (!startsMuchLater(compared)) return [];
  const [late, earlier] = [compared.now, compared.before].map((span) => durationText(span?.late?.p50 ?? 0));
  return [
    {
      kind: "later",
      severity: "warn",
      of: topic,
      href: addresses.topic(topic),
      text: `The jobs of ${topic} start later than an hour ago: half of them ${late} late or more, an hour ago ${earlier}.`,
      more: "Do its jobs take longer, or are more of them due at once?",
    },
  ];
}

/** The list of late jobs. A list has at most 31 days. */
export function lateJobs(
  topic: string,
  at: string,
  { since = at }: Pick<TopicJson["late"], "since">,
): string {
  const to = isoAt(Math.min(Date.parse(at), Date.parse(since) + LONGEST_LIST));
  return addresses.jobs({ topic, state: "late", from: since, to });
}

function deadNeed({ topic, dead }: Topic): Need {
  const verbs = dead.count === 1 ? "is dead and waits" : "are dead and wait";
  return {
    kind: "dead",
    severity: "bad",
    of: topic,
    href: addresses.dead({ topic }),
    text: `${jobsText(dead.count, dead.atLeast)} of ${topic} ${verbs} for a decision.`,
  };
}

/** The jobs of an untracked topic that have failed are only stored as letters in its DLQ. */
export function lettersOf({ policy, depths }: TopicJson): number {
  return policy.tracking === "none" ? depths.dead : 0;
}

function lettersNeed(topic: TopicJson): Need {
  const letters = lettersOf(topic);
  const what = letters === 1 ? "1 letter waits" : `${letters.toLocaleString("en")} letters wait`;
  return {
    kind: "letters",
    severity: "bad",
    of: topic.topic,
    href: addresses.topic(topic.topic),
    text: `${what} in the dead-letter queue of ${topic.topic}.`,
    more: "Each letter is a failed job of this untracked topic. SQS can redrive its letters.",
  };
}

function retryingNeed(report: TopicJson): Need {
  const { topic, retrying } = report;
  const verb = retrying.count === 1 && !retrying.atLeast ? "has" : "have";
  const next = Date.parse(retrying.next ?? "");
  const begun = retrying.error?.startsWith(THROTTLED) ? " or could not begin" : "";
  const when = next > now.value ? `; the next retry is ${relativeText(next, now.value)}` : "";
  return {
    kind: "retrying",
    severity: "warn",
    of: topic,
    href: retryingJobs(report),
    text: `${jobsText(retrying.count, retrying.atLeast)} of ${topic} ${verb} failed${begun} and will be retried${when}.`,
    ...(retrying.error !== undefined && { more: newestErrorText(retrying.error, retrying.failedAt) }),
  };
}

export function newestErrorText(error: string, failedAt: string | undefined): string {
  const when = failedAt === undefined ? "" : `, ${relativeText(Date.parse(failedAt), now.value)}`;
  return `Newest error${when}: ${shortened(error)}`;
}

const LONGEST_ERROR = 200;

/** The first line of an error. */
function shortened(error: string): string {
  const [line = ""] = error.split("\n");
  const visible = withVisibleMarks(line);
  return visible.length > LONGEST_ERROR ? `${visible.slice(0, LONGEST_ERROR)} …` : visible;
}

/** The list of the jobs that wait for a retry, from the one that is retried first until a day later. */
export function retryingJobs({ topic, at, retrying }: TopicJson): string {
  const first = Date.parse(retrying.next ?? at);
  return addresses.jobs({ topic, state: "retrying", from: isoAt(first), to: isoAt(first + DAY) });
}

function pauseNeed(topic: string, pause: Pause): Need {
  const since = timeText(Date.parse(pause.since), now.value, zone.value);
  const holds = pause.parked > 0 ? ` and holds ${heldText(pause.parked)},` : "";
  // The reason of the actor has its own words, so it stands last.
  const who = pause.by === undefined ? "" : ` by ${actorText(pause.by)}`;
  return {
    kind: "paused",
    severity: "warn",
    of: topic,
    href: heldJobs(topic, pause),
    text: `${topic} has been paused since ${since}${who === "" ? holds.replace(/,$/, "") : holds}${who}.`,
  };
}

/** The API does not say whether an occurrence failed. Without its topic, each of them fails. */
function lostScheduleNeeds(
  { name, topic, paused, next }: ScheduleSummary,
  topics: readonly TopicJson[],
): Need[] {
  if (paused || next.length === 0 || topics.some((one) => one.topic === topic)) return [];
  return [
    {
      kind: "schedule",
      severity: "bad",
      of: name,
      href: addresses.schedule(name),
      text: `The schedule ${name} cannot file its jobs: the queue has no topic ${topic}.`,
      more: "Give the schedule another topic, or delete it.",
    },
  ];
}

function pausedScheduleNeed({ name }: ScheduleSummary): Need {
  return {
    kind: "schedule",
    severity: "warn",
    of: name,
    href: addresses.schedule(name),
    text: `The schedule ${name} is paused, and files no jobs.`,
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

export function byNeed<Report extends TopicJson>(
  topics: readonly Report[],
  needs: readonly Need[],
): Report[] {
  const troubled = new Set(needs.flatMap(({ kind, of }) => (kind === "schedule" ? [] : [of])));
  const first = [...troubled].flatMap((name) => topics.find(({ topic }) => topic === name) ?? []);
  return [...first, ...topics.filter(({ topic }) => !troubled.has(topic))];
}
