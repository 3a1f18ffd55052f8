import { useRef } from "preact/hooks";
import { OVERDUE_COUNTED } from "../../../client/overdue.ts";
import { USUAL_LAG } from "../../../core/constants.ts";
import type { JobSummary, ScheduleSummary, TopicJson } from "../../../http/answers.ts";
import type { Lateness } from "../lateness.ts";
import { Bars } from "../parts/bars.tsx";
import { Empty, Loaded } from "../parts/loaded.tsx";
import { heldText, PauseBadge, PauseTopic, ResumeTopic } from "../parts/pause-topic.tsx";
import { addresses } from "../parts/search.ts";
import { Explained, WordList } from "../parts/words.tsx";
import { AHEAD_MINUTES, useDueNext, useLateJobs, useLateness, useSchedules, useTopics } from "../reads.ts";
import { isHolding, type Pause } from "../shown-state.ts";
import { now, zone } from "../state.ts";
import { DAY, durationText, HOUR, isoAt, MINUTE, timeText } from "../times.ts";
import type { Word } from "../words.ts";

/** The words of the overview that need an explanation. */
const OVERVIEW_WORDS = ["ready", "delayed", "in flight", "held", "dead", "late p50 / p99", "sweep"] as const;

/** All topics, and first what needs a person. */
export function Overview() {
  const topics = useTopics();
  const lateness = useLateness(topics.data !== undefined);
  return (
    <>
      <h1>Overview</h1>
      <Loaded query={topics} what="the topics">
        {(found) =>
          found.length === 0 ? (
            <Empty>
              <p>The queue has no topic. Add one to the `topics` of its construct.</p>
            </Empty>
          ) : (
            <Topics topics={found} lateness={lateness.data} />
          )
        }
      </Loaded>
    </>
  );
}

type TopicsProps = {
  readonly topics: readonly TopicJson[];
  readonly lateness: ReadonlyMap<string, Lateness> | undefined;
};

function Topics({ topics, lateness }: TopicsProps) {
  const late = useLateJobs();
  const schedules = useSchedules(MINUTE);
  const needs = needsOf(topics, late.data ?? [], schedules.data ?? []);
  // The order stays until the view is opened again, so that no card moves away from the pointer.
  const order = useRef<readonly TopicJson[] | undefined>(undefined);
  const first = order.current ?? byNeed(topics, needs);
  if (!late.isPending) order.current = first;
  return (
    <>
      <Needs needs={needs} />
      <p class="sweep">
        The <Explained word="sweep" /> {sweepText(topics)}
      </p>
      <ul class="topics">
        {inOrder(topics, first).map((topic) => (
          <TopicCard key={topic.topic} topic={topic} lateness={lateness?.get(topic.topic)} />
        ))}
      </ul>
      <WordList words={OVERVIEW_WORDS} />
    </>
  );
}

/** Something that a person should look at. */
type Need = { readonly href: string; readonly text: string; readonly topic?: string };

/** What a person should look at, the most urgent first. `late`: the jobs that should have started, the oldest first. */
function needsOf(
  topics: readonly TopicJson[],
  late: readonly JobSummary[],
  schedules: readonly ScheduleSummary[],
): Need[] {
  const lateTopics = Map.groupBy(late, ({ topic }) => topic);
  const lag = lagOf(topics);
  return [
    ...(lag > USUAL_LAG
      ? [
          {
            href: addresses.overview,
            text: `The sweep is ${durationText(lag)} behind: jobs may start late. Look at the log of the tick.`,
          },
        ]
      : []),
    ...[...lateTopics].map(([topic, jobs]) => ({
      topic,
      href: addresses.jobs({
        topic,
        state: "scheduled",
        from: jobs[0]?.dueAt,
        to: justAfter(jobs.at(-1)?.dueAt),
      }),
      text: `${jobs.length >= OVERDUE_COUNTED ? `${OVERDUE_COUNTED} or more jobs` : jobsText(jobs.length)} of ${topic} should have started and have not. Is its consumer running?`,
    })),
    ...topics
      .filter(({ depths }) => depths.dead > 0)
      .map(({ topic, depths }) => ({
        topic,
        href: addresses.dead({ topic }),
        text: `${jobsText(depths.dead)} of ${topic} ${depths.dead === 1 ? "is" : "are"} dead and ${depths.dead === 1 ? "waits" : "wait"} for a decision. See the errors.`,
      })),
    ...topics.flatMap(({ topic, pause }) =>
      pause?.state === "paused"
        ? [
            {
              topic,
              href: heldJobs(topic, pause),
              text: `${topic} has been paused since ${timeText(Date.parse(pause.since), now.value, zone.value)}${pause.parked > 0 ? `, and holds ${heldText(pause.parked)}` : ""}.`,
            },
          ]
        : [],
    ),
    ...schedules
      .filter(({ paused }) => paused)
      .map(({ name }) => ({
        href: addresses.schedule(name),
        text: `The schedule ${name} is paused, and files no jobs.`,
      })),
  ];
}

/**
 * The waiting jobs of a paused topic: those that were due since an hour before the pause, because they may have waited then, and
 * those of the next hour. A list has at most 31 days.
 */
function heldJobs(topic: string, { since }: Pause): string {
  const minute = Math.floor(now.value / MINUTE) * MINUTE;
  const from = Math.max(Date.parse(since) - HOUR, minute - 30 * DAY);
  return addresses.jobs({ topic, state: "scheduled", from: isoAt(from), to: isoAt(minute + HOUR) });
}

function Needs({ needs }: { needs: readonly Need[] }) {
  return (
    <section aria-labelledby="needs-title" class="needs">
      <h2 id="needs-title">What needs you</h2>
      {needs.length === 0 ? (
        <p class="fine">Nothing. No job is late or dead, and the sweep is on time.</p>
      ) : (
        <ul class="links">
          {needs.map(({ href, text }) => (
            <li key={text}>
              <a href={href} data-line>
                {text}
              </a>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

/** Orders the topics as their needs, so that the topics in trouble come first. */
function byNeed(topics: readonly TopicJson[], needs: readonly Need[]): TopicJson[] {
  const troubled = new Set(needs.map(({ topic }) => topic));
  const first = [...troubled].flatMap((name) => topics.find(({ topic }) => topic === name) ?? []);
  return [...first, ...topics.filter(({ topic }) => !troubled.has(topic))];
}

/** The topics in the order of an earlier list. Topics that this list does not have come last. */
function inOrder(topics: readonly TopicJson[], earlier: readonly TopicJson[]): TopicJson[] {
  const places = new Map(earlier.map(({ topic }, place) => [topic, place]));
  return topics.toSorted(
    (a, b) => (places.get(a.topic) ?? Infinity) - (places.get(b.topic) ?? Infinity) || 0,
  );
}

function jobsText(count: number): string {
  return count === 1 ? "1 job" : `${count.toLocaleString("en")} jobs`;
}

/** A range ends before its `to`. */
function justAfter(time: string | undefined): string | undefined {
  return time === undefined ? undefined : new Date(Date.parse(time) + 1).toISOString();
}

function sweepText(topics: readonly TopicJson[]): string {
  const lag = lagOf(topics);
  if (lag <= USUAL_LAG) return "is on time: all jobs of the next minutes are on their way.";
  return `is ${durationText(lag)} behind.`;
}

/** How far the sweep is behind, ms. */
function lagOf(topics: readonly TopicJson[]): number {
  return 1000 * Math.max(...topics.map(({ sweepLag }) => sweepLag));
}

function TopicCard({
  topic: { topic, policy, depths, pause },
  lateness,
}: {
  topic: TopicJson;
  lateness: Lateness | undefined;
}) {
  const isTracked = policy.tracking === "full";
  const isPaused = pause?.state === "paused";
  const holding = isHolding(pause) ? pause : undefined;
  return (
    <li class="card" aria-labelledby={`topic-${topic}`}>
      <div class="card-head">
        <h2 id={`topic-${topic}`}>
          <a href={holding ? heldJobs(topic, holding) : addresses.jobs({ topic })}>{topic}</a>
        </h2>
        <span class="quiet">{consumerText(policy)}</span>
        <PauseBadge pause={pause} />
      </div>
      <DueNext topic={topic} />
      <dl class="figures">
        <Figure name="ready" value={depths.ready.toLocaleString("en")} />
        <Figure name="delayed" value={depths.delayed.toLocaleString("en")} />
        <Figure name="in flight" value={depths.inFlight.toLocaleString("en")} />
        <Figure name="held" value={pause ? heldText(pause.parked).replace(/ jobs?/, "") : "0"} />
        <Figure
          name="dead"
          value={depths.dead.toLocaleString("en")}
          href={isTracked && depths.dead > 0 ? addresses.dead({ topic }) : undefined}
        />
        <Figure
          name="late p50 / p99"
          isWide
          value={lateness ? `${durationText(lateness.p50)} / ${durationText(lateness.p99)}` : "–"}
          title={
            lateness ? `${lateness.runs} runs of the last hour` : "no run of a tracked job in the last hour"
          }
        />
      </dl>
      <div class="buttons">
        {holding && <ResumeTopic {...{ topic, depths, pause: holding }} />}
        {isTracked && !isPaused && <PauseTopic topic={topic} />}
        <a class="button" href={addresses.enqueue({ topic })} aria-label={`Enqueue a job of ${topic}`}>
          Enqueue …
        </a>
      </div>
    </li>
  );
}

function consumerText({ consumer, maxPerSecond, window }: TopicJson["policy"]): string {
  const names = { lambda: "run by a function", pull: "pulled by workers", webhook: "sent to a webhook" };
  const limit = maxPerSecond === undefined ? [] : [`at most ${maxPerSecond} a second`];
  return [names[consumer], ...limit, ...(window === undefined ? [] : [`window ${window}`])].join(", ");
}

function Figure({
  name,
  value,
  href,
  title,
  isWide,
}: {
  name: Word;
  value: string;
  href?: string | undefined;
  title?: string;
  isWide?: boolean;
}) {
  return (
    <div title={title} class={isWide ? "wide" : undefined}>
      <dt>
        <Explained word={name} />
      </dt>
      <dd>{href === undefined ? value : <a href={href}>{value}</a>}</dd>
    </div>
  );
}

function DueNext({ topic }: { topic: string }) {
  const due = useDueNext(topic);
  const { from = 0, counts = [] } = due.data ?? {};
  const sum = counts.reduce((all, count) => all + count, 0);
  const text = due.data
    ? `${jobsText(sum)} due in the next ${AHEAD_MINUTES} minutes`
    : due.error
      ? "The jobs of the next minutes could not be counted"
      : "Counting the jobs of the next minutes …";
  return (
    <div class="due-next">
      <p>
        <a href={addresses.time({ topic })}>{text}</a>
        {sum > 0 && <span class="quiet">, at most {Math.max(...counts).toLocaleString("en")} a minute</span>}
      </p>
      <Bars
        from={from}
        step={MINUTE}
        counts={counts}
        label={`${text}, minute by minute: ${counts.join(", ")}`}
      />
    </div>
  );
}
