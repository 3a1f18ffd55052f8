import { DAY } from "../../../src/core/constants.ts";
import type { Policy } from "../../../src/settings/policy.ts";
import type { Weather } from "../faults.ts";
import { actorsOf } from "./actors.ts";
import { attemptsOf } from "./attempts.ts";
import type { Bench, Court } from "./bench.ts";
import { boundsOf } from "./bounds.ts";
import { bulksOf } from "./bulks.ts";
import { cancelsOf } from "./cancels.ts";
import { changesOf } from "./changes.ts";
import { deadLettersOf } from "./dead-letters.ts";
import { endsOf } from "./ends.ts";
import { erasesOf } from "./erases.ts";
import { filingsOf } from "./filings.ts";
import { grantsOf } from "./grants.ts";
import { handOversOf } from "./hand-overs.ts";
import { keysOf } from "./keys.ts";
import { type KnownJobs, knownJobs } from "./known-jobs.ts";
import { limitsOf } from "./limits.ts";
import { looksOf } from "./looks.ts";
import { overlapsOf } from "./overlaps.ts";
import { pausesOf } from "./pauses.ts";
import { recurringOf } from "./recurring.ts";
import { repeatsOf } from "./repeats.ts";
import { runTimesOf } from "./run-times.ts";
import { surplusMessagesOf } from "./surplus-messages.ts";
import { timelinesOf } from "./timelines.ts";
import { tombstonesOf } from "./tombstones.ts";
import { untrackedOf } from "./untracked.ts";
import { webhookIdsOf } from "./webhook-ids.ts";
import { windowsOf } from "./windows.ts";
import { workCountsOf } from "./work-counts.ts";

export type Settings = {
  weather: Weather;
  topics: Policy["topics"];
  untracked: ReadonlySet<string>;
  latest: (id: string) => number;
  unwanted: string;
  /** For how many ms DynamoDB takes no writes of looks. In that time each audit sends the same jobs again. */
  unwritten?: number;
  burns: boolean;
};

export type Judges = ReturnType<typeof judgesOf>;

// long: the list of the judges
export function judgesOf(court: Court, settings: Settings) {
  const { weather, topics, untracked, unwanted, unwritten = 0 } = settings;
  const { clock, skew, violate } = court;
  const bench = (promise: string): Bench => ({
    ...{ clock, skew },
    broken: (id, text) => violate(promise, id, text),
  });
  const bounds = boundsOf(weather);
  const jobs = knownJobs(clock);
  const looks = looksOf(bench("P1"), jobs);
  const untrackedJobs = untrackedOf(bench("P1"), jobs);
  const deadLetters = deadLettersOf(court, jobs, unwanted);
  const pauses = pausesOf({
    clock,
    claims: bounds.claim,
    latestEnd: bounds.end,
    mayCrash: weather === "hurt",
  });
  const limits = limitsOf(clock, skew, topics);
  const windows = windowsOf(topics);
  const bulks = bulksOf(bench("bulk"));
  const tombstones = tombstonesOf(bench("events"), weather);
  const erases = erasesOf(bench("erase"), jobs);
  const isOver = (id: string): boolean =>
    isOnceOver(court, jobs, id) || looks.isAuditOut(id) || erases.isErased(id);
  const repeats = repeatsOf(bench("once"), isOver);
  const cancels = cancelsOf(clock, jobs);
  const webhookIds = webhookIdsOf(court, jobs, topics);
  return {
    ...{ jobs, looks, untrackedJobs, deadLetters, pauses, bulks, tombstones, repeats, cancels, webhookIds },
    ...{ limits, erases },
    spreadOf: (topic: string): number => (topics[topic]?.spread ?? 0) * 1000,
    actors: actorsOf({ ...court, topics, jobs }),
    filings: filingsOf({
      ...{ ...bench("filing"), topics, isCalm: weather === "calm" },
      // A job that was redriven a day after its end is not known by its token any more.
      isOver: (id) => isOver(id) || jobs.homeOf(id)?.restarts !== undefined,
    }),
    ends: endsOf(bench("P1"), jobs, deadLetters, untrackedJobs, erases.isGone),
    changes: changesOf({
      ...{ ...court, bounds, topics, burns: settings.burns },
      ...{ pauses, tombstones, bulks, erases, repeats, cancels, deadLetters, webhookIds },
    }),
    grants: grantsOf(court, jobs, untracked),
    attempts: attemptsOf(court, jobs, untracked, cancels),
    overlaps: overlapsOf(bench("P5"), jobs, untracked),
    runTimes: runTimesOf({
      ...{ ...court, jobs, topics, untracked, weather, latest: settings.latest, unwanted },
      ...{ pauses, limits, windows, bulks },
    }),
    handOvers: handOversOf({ ...court, jobs, limits, windows, weather, longestSend: bounds.send }),
    surplus: surplusMessagesOf(bench("P6"), jobs, unwritten),
    work: workCountsOf(jobs, topics),
    keys: keysOf(bench("key")),
    timelines: timelinesOf(bench("timeline"), jobs),
    recurring: recurringOf(bench("once").broken, court),
  };
}

/** Whether a job ended a day ago or earlier, so that a repeat of its request need not find it. */
function isOnceOver({ clock, skew }: Court, jobs: KnownJobs, id: string): boolean {
  const end = jobs.of(id).home?.finishedAt;
  return end !== undefined && end + DAY <= clock() + skew;
}
