import type { ComponentChildren } from "preact";
import { isHolding } from "../../../src/client/holding.ts";
import { lateIn } from "../../../src/client/late-in.ts";
import type { TopicJson } from "../../../src/http/answers/topics.ts";
import { jobsText } from "../bulk-calls.ts";
import { SPARK_HOURS, useHistory } from "../history-reads.ts";
import { type Lateness, latenessOf } from "../lateness.ts";
import { heldJobs, lateJobs, lettersOf, type Need, retryingJobs } from "../needs.ts";
import { AHEAD_MINUTES, type Topic, useDueNext } from "../reads.ts";
import { durationText } from "../times.ts";
import type { Word } from "../words.ts";
import { ClockAlert, Ellipsis } from "./icon.tsx";
import { heldText, PauseMark, PauseTopic, ResumeTopic } from "./pause-topic.tsx";
import { Popover } from "./popover.tsx";
import { addresses } from "./search.ts";
import { SmallBars } from "./small-bars.tsx";
import { TopicSparks } from "./sparks.tsx";
import { Explained } from "./words.tsx";

export type TopicLine = {
  readonly report: Topic;
  readonly needs: readonly Need[];
  /** `undefined`: not read yet. */
  readonly lateness: ReadonlyMap<string, Lateness> | undefined;
};

/** The numbers of a topic, in the order in which a job passes them. */
const FIGURES: readonly { readonly word: Word; readonly of: (report: Topic) => Figure }[] = [
  { word: "ready", of: ({ depths }) => ({ count: depths.ready }) },
  { word: "delayed", of: ({ depths }) => ({ count: depths.delayed }) },
  { word: "in flight", of: ({ depths }) => ({ count: depths.inFlight }) },
  {
    word: "held",
    of: ({ topic, pause }) => ({
      count: pause?.parked ?? 0,
      isMore: heldText(pause?.parked ?? 0).includes("more"),
      look: "held",
      href: pause && heldJobs(topic, pause),
    }),
  },
  {
    word: "retrying",
    of: (report) => ({
      count: report.retrying?.count ?? 0,
      isMore: report.retrying?.atLeast,
      look: "retry",
      href: retryingJobs(report),
    }),
  },
  {
    word: "dead",
    of: (report) => ({
      count: report.dead.count + lettersOf(report),
      isMore: report.dead.atLeast,
      unit: lettersOf(report) === 0 ? "" : " letters",
      look: "bad",
      href: lettersOf(report) === 0 ? addresses.dead({ topic: report.topic }) : undefined,
    }),
  },
];

type Figure = {
  readonly count: number;
  /** Whether there may be more. */
  readonly isMore?: boolean | undefined;
  readonly look?: string;
  /** What is counted, if it is no jobs. */
  readonly unit?: string;
  readonly href?: string | undefined;
};

/** For wide windows: a line for each topic. */
export function TopicTable({ lines }: { lines: readonly TopicLine[] }) {
  return (
    <table class="data topics">
      <thead>
        <tr>
          <th scope="col">Topic</th>
          <th scope="col">Due in the next {AHEAD_MINUTES} min</th>
          {FIGURES.map(({ word }) => (
            <th key={word} scope="col" class="number">
              <Explained word={word} />
            </th>
          ))}
          <th scope="col" class="number">
            <Explained word="late p50 / p99, last hour" />
          </th>
          <th scope="col">Last {SPARK_HOURS} hours; values of 10 min</th>
          <th scope="col">
            <span class="hidden">Actions</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {lines.map((line) => (
          <TopicTableRow key={line.report.topic} line={line} />
        ))}
      </tbody>
    </table>
  );
}

function TopicTableRow({ line: { report, needs, lateness } }: { line: TopicLine }) {
  return (
    <tr>
      <th scope="row">
        <TopicName report={report} needs={needs} />
      </th>
      <td>
        <DueNext topic={report.topic} />
      </td>
      {FIGURES.map(({ word, of }) => (
        <td key={word} class="number">
          <Count {...of(report)} />
        </td>
      ))}
      <td class="number">
        <Late lateness={lateness} topic={report.topic} />
      </td>
      <td>
        <TopicSparks topic={report.topic} />
      </td>
      <td>
        <TopicMenu report={report} />
      </td>
    </tr>
  );
}

/** For narrow windows: a card for each topic. */
export function TopicCards({ lines }: { lines: readonly TopicLine[] }) {
  return (
    <ul class="topics">
      {lines.map(({ report, needs, lateness }) => (
        <li key={report.topic} class="panel" aria-label={report.topic}>
          <div class="card-top">
            <TopicName report={report} needs={needs} />
            <TopicMenu report={report} />
          </div>
          <DueNext topic={report.topic} isLong />
          <dl class="figures">
            {FIGURES.map(({ word, of }) => (
              <FigureOf key={word} word={word}>
                <Count {...of(report)} />
              </FigureOf>
            ))}
            <FigureOf word="late p50 / p99, last hour" isWide>
              <Late lateness={lateness} topic={report.topic} />
            </FigureOf>
          </dl>
          <TopicSparks topic={report.topic} />
        </li>
      ))}
    </ul>
  );
}

function FigureOf(props: { word: Word; isWide?: boolean; children: ComponentChildren }) {
  return (
    <div class={props.isWide ? "wide" : undefined}>
      <dt>
        <Explained word={props.word} />
      </dt>
      <dd>{props.children}</dd>
    </div>
  );
}

/** The name with what is special about the topic now, and below how the topic is run. */
function TopicName({ report, needs }: Pick<TopicLine, "report" | "needs">) {
  const { topic, policy, pause, at } = report;
  const severity = needs.find((need) => need.severity === "bad")?.severity ?? needs[0]?.severity;
  const holding = isHolding(pause) ? pause : undefined;
  return (
    <div class="topic-name">
      <span class={`dot ${severity ?? "good"}`} title={severity ? "needs you" : "calm"}>
        <span class="hidden">{severity ? "needs you" : "calm"}</span>
      </span>
      <div>
        <a href={addresses.topic(topic)}>{topic}</a> {holding && <PauseMark state={holding.state} />}{" "}
        {lateIn(report).map((late) => (
          <a key="late" class="badge late" href={lateJobs(topic, at, late)}>
            <ClockAlert class="icon" size={12} aria-hidden="true" />
            {late.count.toLocaleString("en")}
            {late.atLeast && "+"} late
          </a>
        ))}
        <span class="topic-more quiet">{consumerText(policy)}</span>
      </div>
    </div>
  );
}

function consumerText({ consumer, maxPerSecond, window }: TopicJson["policy"]): string {
  const names = { lambda: "run by a function", pull: "pulled by workers", webhook: "sent to a webhook" };
  const limit = maxPerSecond === undefined ? [] : [`at most ${maxPerSecond} a second`];
  return [names[consumer], ...limit, ...(window === undefined ? [] : [`window ${window}`])].join(", ");
}

/** A zero is quiet, so that the eye finds the other numbers. */
function Count({ count, isMore, look = "", unit = "", href }: Figure) {
  const text = `${count.toLocaleString("en")}${isMore ? "+" : ""}${unit}`;
  if (count === 0) return <span class="quiet">{text}</span>;
  const marked = <strong class={look}>{text}</strong>;
  return href === undefined ? marked : <a href={href}>{marked}</a>;
}

function Late({ lateness, topic }: { lateness: TopicLine["lateness"]; topic: string }) {
  const { data: history } = useHistory();
  if (lateness === undefined) return <span class="quiet">…</span>;
  const late = latenessOf(topic, lateness, history === undefined || "why" in history ? undefined : history);
  if (late === undefined)
    return (
      <span class="quiet" title="no run of a tracked job in the last hour">
        no job done
      </span>
    );
  return (
    <span class="late-pair" title={`${late.runs} runs of the last hour`}>
      <span>{durationText(late.p50)}</span> <span class="quiet">/</span> <span>{durationText(late.p99)}</span>
    </span>
  );
}

function TopicMenu({ report: { topic, policy, depths, pause } }: { report: TopicJson }) {
  const holding = isHolding(pause) ? pause : undefined;
  return (
    <Popover
      look="menu-button"
      label={`Actions of ${topic}`}
      button={<Ellipsis class="icon" size={16} aria-hidden="true" />}
    >
      <div class="menu">
        {holding && <ResumeTopic {...{ topic, depths, pause: holding }} />}
        {policy.tracking === "full" && pause?.state !== "paused" && <PauseTopic topic={topic} />}
        <a class="button" href={addresses.enqueue({ topic })} aria-label={`Enqueue a job of ${topic}`}>
          Enqueue …
        </a>
      </div>
    </Popover>
  );
}

/** `isLong`: with all words, where the column has no heading. */
function DueNext({ topic, isLong }: { topic: string; isLong?: boolean }) {
  const due = useDueNext(topic);
  const { counts = [] } = due.data ?? {};
  const sum = counts.reduce((all, count) => all + count, 0);
  const most = Math.max(0, ...counts).toLocaleString("en");
  const text = due.data
    ? `${jobsText(sum)} due in the next ${AHEAD_MINUTES} minutes`
    : due.error
      ? "The jobs of the next minutes could not be counted"
      : "Counting the jobs of the next minutes …";
  const short = due.data ? sum.toLocaleString("en") : due.error ? "not counted" : "…";
  return (
    <div class={isLong ? "due-next long" : "due-next"}>
      <a href={addresses.time({ topic })} aria-label={text} class={sum === 0 ? "zero" : ""}>
        {isLong ? text : short}
      </a>
      <SmallBars
        counts={counts.length > 0 ? counts : NO_COUNTS}
        label={`${text}, minute by minute: ${counts.join(", ")}`}
      />
      {sum > 0 && !isLong && <span class="quiet most">≤ {most}/min</span>}
    </div>
  );
}

const NO_COUNTS = Array.from({ length: AHEAD_MINUTES }, () => 0);
