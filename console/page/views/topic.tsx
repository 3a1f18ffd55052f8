import { isHolding } from "../../../src/client/holding.ts";
import type { TopicJson } from "../../../src/http/answers/topics.ts";
import type { History } from "../../history.ts";
import { SPARK_HOURS, useHistory } from "../history-reads.ts";
import { minutesOf, unknownOf } from "../history-spans.ts";
import { heldJobs, lateJobs, lettersOf } from "../needs.ts";
import { HistoryChart } from "../parts/history-chart.tsx";
import { HistoryTable } from "../parts/history-table.tsx";
import { LatenessSteps } from "../parts/lateness-steps.tsx";
import { Empty, Loaded } from "../parts/loaded.tsx";
import { NowAndBefore } from "../parts/now-and-before.tsx";
import { heldText, PauseBadge, PauseTopic, ResumeTopic } from "../parts/pause-topic.tsx";
import { addresses, useSearch } from "../parts/search.ts";
import { Why } from "../parts/sparks.tsx";
import { Explained, WordList } from "../parts/words.tsx";
import { type Topic, useTopics } from "../reads.ts";
import { about } from "../server.ts";
import { HOUR, MINUTE } from "../times.ts";
import type { Word } from "../words.ts";

export function TopicView({ topic = "" }: { topic?: string }) {
  const topics = useTopics();
  return (
    <Loaded query={topics} what="the topics">
      {(found) => {
        const report = found.find((one) => one.topic === topic);
        return report ? <Found report={report} /> : <NoSuchTopic topic={topic} topics={found} />;
      }}
    </Loaded>
  );
}

function NoSuchTopic({ topic, topics }: { topic: string; topics: readonly TopicJson[] }) {
  return (
    <>
      <h1>{topic}</h1>
      <Empty>
        <p>The queue has no topic {topic}. It has these:</p>
        <p class="topic-links">
          {topics.map((one) => (
            <a key={one.topic} href={addresses.topic(one.topic)}>
              {one.topic}
            </a>
          ))}
        </p>
      </Empty>
    </>
  );
}

/** The hours that a button shows. The local stack keeps six. */
const HOURS = about.hasLive ? [1, 3, 6] : [1, 3, 6, 24];
const USUAL_HOURS = 3;

function Found({ report }: { report: Topic }) {
  const { topic } = report;
  const [{ hours = "" }, change] = useSearch();
  const shown = HOURS.find((one) => String(one) === hours) ?? USUAL_HOURS;
  // "An hour ago" must be known also while only the last hour is shown.
  const history = useHistory(Math.max(shown, SPARK_HOURS), topic);
  return (
    <>
      <Head report={report} />
      <Figures report={report} />
      <Loaded query={history} what="the history">
        {(answer) =>
          "why" in answer ? (
            <Why history={answer} />
          ) : unknownOf(answer, topic).parts.includes("started") ? (
            <Why history={unknownOf(answer, topic)} />
          ) : (
            <>
              <NowAndBefore report={report} history={answer} />
              <section class="panel" aria-labelledby="history-title">
                <div class="card-head">
                  <h2 id="history-title">Minute by minute</h2>
                  <Hours shown={shown} onChange={(chosen) => change({ hours: String(chosen) })} />
                </div>
                <Minutes history={answer} topic={topic} hours={shown} />
              </section>
              <LatenessSteps history={answer} topic={topic} />
            </>
          )
        }
      </Loaded>
      <WordList words={TOPIC_WORDS} />
    </>
  );
}

const TOPIC_WORDS = ["ready", "delayed", "in flight", "held", "late", "retrying", "dead"] as const;

type MinutesProps = { readonly history: History; readonly topic: string; readonly hours: number };

function Minutes({ history, topic, hours }: MinutesProps) {
  const { to } = history;
  const from = to - hours * HOUR;
  const unknown = unknownOf(history, topic);
  const minutes = minutesOf(history, topic).filter(({ at }) => at > from - MINUTE);
  return (
    <>
      {unknown.parts.length > 0 && <p class="quiet">Not all is known: {unknown.why}.</p>}
      <HistoryChart {...{ from, to, minutes, unknown }} />
      <HistoryTable {...{ minutes, unknown }} />
    </>
  );
}

function Head({ report }: { report: TopicJson }) {
  const { topic, policy, pause, depths } = report;
  const isTracked = policy.tracking === "full";
  const holding = isHolding(pause) ? pause : undefined;
  return (
    <>
      <h1>{topic}</h1>
      <p class="quiet topic-policy">
        {policyTexts(policy).map((text) => (
          <span key={text}>{text}</span>
        ))}
        <PauseBadge pause={pause} />
      </p>
      <div class="buttons">
        {holding && <ResumeTopic {...{ topic, depths, pause: holding }} />}
        {isTracked && pause?.state !== "paused" && <PauseTopic topic={topic} />}
        <a class="button" href={addresses.enqueue({ topic })} aria-label={`Enqueue a job of ${topic}`}>
          Enqueue …
        </a>
        <span class="topic-links">
          <a href={holding ? heldJobs(topic, holding) : addresses.jobs({ topic })}>
            {holding ? "Its held jobs" : "Its jobs"}
          </a>
          {isTracked && <a href={addresses.dead({ topic })}>Its dead jobs</a>}
          <a href={addresses.time({ topic })}>Its time axis</a>
          {about.hasLive && <a href={addresses.live({ topic })}>Its log</a>}
        </span>
      </div>
    </>
  );
}

function policyTexts({ consumer, maxPerSecond, window, tracking }: TopicJson["policy"]): string[] {
  const names = { lambda: "run by a function", pull: "pulled by workers", webhook: "sent to a webhook" };
  return [
    names[consumer],
    ...(tracking === "none" ? ["untracked"] : []),
    ...(maxPerSecond === undefined ? [] : [`at most ${maxPerSecond} starts a second`]),
    ...(window === undefined ? [] : [`only in the window ${window}`]),
  ];
}

function Figures({ report }: { report: Topic }) {
  const { topic, depths, pause, late, retrying, dead, at } = report;
  const letters = lettersOf(report);
  const number = (count: number, atLeast?: boolean) => `${count.toLocaleString("en")}${atLeast ? "+" : ""}`;
  const deadHref = dead.count > 0 ? addresses.dead({ topic }) : undefined;
  return (
    <dl class="figures panel">
      <Figure
        name="late"
        value={number(late.count, late.atLeast)}
        href={late.count === 0 ? undefined : lateJobs(topic, at, late)}
      />
      <Figure name="retrying" value={number(retrying.count, retrying.atLeast)} />
      <Figure
        name="dead"
        value={letters === 0 ? number(dead.count, dead.atLeast) : `${number(letters)} letters`}
        href={deadHref}
      />
      <Figure
        name="held"
        value={pause ? heldText(pause.parked).replace(/ jobs?/, "") : "0"}
        href={isHolding(pause) ? heldJobs(topic, pause) : undefined}
      />
      <Figure name="ready" value={number(depths.ready)} />
      <Figure name="in flight" value={number(depths.inFlight)} />
      <Figure name="delayed" value={number(depths.delayed)} />
    </dl>
  );
}

function Figure({ name, value, href }: { name: Word; value: string; href?: string | undefined }) {
  return (
    <div>
      <dt>
        <Explained word={name} />
      </dt>
      <dd>{href === undefined ? value : <a href={href}>{value}</a>}</dd>
    </div>
  );
}

function Hours({ shown, onChange }: { shown: number; onChange: (hours: number) => void }) {
  return (
    <div class="buttons">
      {HOURS.map((hours) => (
        <button key={hours} type="button" aria-pressed={hours === shown} onClick={() => onChange(hours)}>
          {hours === 1 ? "last hour" : `${hours} hours`}
        </button>
      ))}
    </div>
  );
}
