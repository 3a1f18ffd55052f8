import { useState } from "preact/hooks";
import { isHolding } from "../../../src/client/holding.ts";
import { USUAL_LAG } from "../../../src/core/constants.ts";
import type { TopicJson } from "../../../src/http/answers/topics.ts";
import { jobsText } from "../bulk-calls.ts";
import type { Lateness } from "../lateness.ts";
import { byNeed, heldJobs, lagOf, type Need, needsOf } from "../needs.ts";
import { Bars } from "../parts/bars.tsx";
import { Empty, Loaded } from "../parts/loaded.tsx";
import { heldText, PauseBadge, PauseTopic, ResumeTopic } from "../parts/pause-topic.tsx";
import { addresses } from "../parts/search.ts";
import { HistoryWhy, TopicSparks } from "../parts/sparks.tsx";
import { Explained, WordList } from "../parts/words.tsx";
import { AHEAD_MINUTES, useDueNext, useLateness, useSchedules, useTopics } from "../reads.ts";
import { durationText, MINUTE } from "../times.ts";
import type { Word } from "../words.ts";

const OVERVIEW_WORDS = ["ready", "delayed", "in flight", "held", "dead", "late p50 / p99", "sweep"] as const;

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
  const schedules = useSchedules(MINUTE);
  const needs = needsOf(topics, schedules.data ?? []);
  // The order stays until the view is opened again, so that no card moves away from the pointer.
  const [first] = useState(() => byNeed(topics, needs));
  return (
    <>
      <Needs needs={needs} isCut={topics.some(({ late }) => late?.atLeast)} />
      <p class="sweep">
        The <Explained word="sweep" /> {sweepText(topics)}
      </p>
      <HistoryWhy />
      <ul class="topics">
        {inOrder(topics, first).map((topic) => (
          <TopicCard key={topic.topic} topic={topic} lateness={lateness?.get(topic.topic)} />
        ))}
      </ul>
      <WordList words={OVERVIEW_WORDS} />
    </>
  );
}

/** `isCut`: the API has not looked at all jobs. */
function Needs({ needs, isCut }: { needs: readonly Need[]; isCut: boolean }) {
  return (
    <section aria-labelledby="needs-title" class="needs">
      <h2 id="needs-title">What needs you</h2>
      {needs.length === 0 ? (
        <p class="fine">Nothing. {isCut ? CUT : "No job is late or dead,"} and the sweep is on time.</p>
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

/** The topics in the order of an earlier list. Topics that this list does not have come last. */
function inOrder(topics: readonly TopicJson[], earlier: readonly TopicJson[]): TopicJson[] {
  const places = new Map(earlier.map(({ topic }, place) => [topic, place]));
  return topics.toSorted(
    (a, b) => (places.get(a.topic) ?? Infinity) - (places.get(b.topic) ?? Infinity) || 0,
  );
}

function sweepText(topics: readonly TopicJson[]): string {
  const lag = lagOf(topics);
  if (lag <= USUAL_LAG) return "is on time: all jobs of the next minutes are on their way.";
  return `is ${durationText(lag)} behind.`;
}

const CUT = "No job is dead, of the jobs that were looked at none is late,";

type CardProps = { readonly topic: TopicJson; readonly lateness: Lateness | undefined };

function TopicCard({ topic: report, lateness }: CardProps) {
  const { topic, policy, depths, pause } = report;
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
      <Figures topic={report} lateness={lateness} />
      <TopicSparks topic={topic} />
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

function Figures({ topic: { topic, policy, depths, pause }, lateness }: CardProps) {
  const hasDead = policy.tracking === "full" && depths.dead > 0;
  return (
    <dl class="figures">
      <Figure name="ready" value={depths.ready.toLocaleString("en")} />
      <Figure name="delayed" value={depths.delayed.toLocaleString("en")} />
      <Figure name="in flight" value={depths.inFlight.toLocaleString("en")} />
      <Figure name="held" value={pause ? heldText(pause.parked).replace(/ jobs?/, "") : "0"} />
      <Figure
        name="dead"
        value={depths.dead.toLocaleString("en")}
        href={hasDead ? addresses.dead({ topic }) : undefined}
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
