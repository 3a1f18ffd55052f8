import { useRef } from "preact/hooks";
import type { ScheduleSummary } from "../../../src/http/answers/schedules.ts";
import { wrong } from "../clock.ts";
import { useHistory } from "../history-reads.ts";
import { curlText } from "../job-call.ts";
import type { Lateness } from "../lateness.ts";
import { byNeed, needsOf } from "../needs.ts";
import { Copied } from "../parts/copied.tsx";
import { Empty, Loaded } from "../parts/loaded.tsx";
import { NeedLines } from "../parts/need-lines.tsx";
import { addresses } from "../parts/search.ts";
import { HistoryWhy } from "../parts/sparks.tsx";
import { TopicCards, TopicTable } from "../parts/topic-table.tsx";
import { WordList } from "../parts/words.tsx";
import { type Topic, useLateness, useSchedules, useTopics } from "../reads.ts";
import { about, apiUrl } from "../server.ts";
import { hasTopicCards } from "../state.ts";
import { durationText, MINUTE } from "../times.ts";

const OVERVIEW_WORDS = [
  ...(["ready", "delayed", "in flight", "held", "late", "retrying", "dead"] as const),
  ...(["late p50 / p99, last hour", "sweep"] as const),
];

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
  readonly topics: readonly Topic[];
  readonly lateness: ReadonlyMap<string, Lateness> | undefined;
};

function Topics({ topics, lateness }: TopicsProps) {
  const schedules = useSchedules(MINUTE);
  const history = useHistory();
  const needs = needsOf(topics, schedules.data ?? [], history.data);
  // The order stays until the view is opened again, so that no line moves away from the pointer. Only the first answer of the history changes it.
  const order = useRef({ topics, isPending: undefined as boolean | undefined });
  if (order.current.isPending !== history.isPending)
    order.current = { topics: byNeed(topics, needs), isPending: history.isPending };
  const lines = inOrder(topics, order.current.topics).map((report) => ({
    report,
    lateness,
    needs: needs.filter(({ kind, of }) => kind !== "schedule" && of === report.topic),
  }));
  return (
    <>
      <NeedLines needs={needs} topics={topics} />
      {isUnused(topics, schedules.data, lateness) && <FirstJob topics={topics} />}
      <HistoryWhy />
      {hasTopicCards.value ? <TopicCards lines={lines} /> : <TopicTable lines={lines} />}
      <WrongClock />
      <WordList words={OVERVIEW_WORDS} />
    </>
  );
}

function WrongClock() {
  const off = wrong.value;
  if (off === 0) return null;
  // The time of the call is part of what is measured, so a long difference is known to the minute.
  const known = Math.abs(off) < MINUTE ? Math.abs(off) : Math.round(Math.abs(off) / MINUTE) * MINUTE;
  return (
    <p class="quiet">
      The clock of this machine is {durationText(known)} {off > 0 ? "behind" : "ahead of"} the queue's. All
      times here are the queue's.
    </p>
  );
}

/** The topics in the order of an earlier list. Topics that this list does not have come last. */
function inOrder(topics: readonly Topic[], earlier: readonly Topic[]): Topic[] {
  const places = new Map(earlier.map(({ topic }, place) => [topic, place]));
  return topics.toSorted(
    (a, b) => (places.get(a.topic) ?? Infinity) - (places.get(b.topic) ?? Infinity) || 0,
  );
}

/** Whether nothing shows that a job or a schedule was ever filed. */
function isUnused(
  topics: readonly Topic[],
  schedules: readonly ScheduleSummary[] | undefined,
  lateness: TopicsProps["lateness"],
): boolean {
  const isIdle = ({ depths: { ready, delayed, inFlight, dead }, retrying, pause, ...topic }: Topic) =>
    ready + delayed + inFlight + dead + topic.dead.count + (retrying?.count ?? 0) === 0 &&
    pause === undefined;
  return schedules?.length === 0 && lateness?.size === 0 && topics.every(isIdle);
}

/** The call that files a job of one of the queue's own topics. */
function FirstJob({ topics: [first] }: Pick<TopicsProps, "topics">) {
  if (first === undefined) return null;
  const { topic } = first;
  return (
    <section aria-labelledby="first-title" class="panel">
      <h2 id="first-title">File a job</h2>
      <p>
        The queue has no messages, and no job has run in the last hour. This call files a job of {topic} that
        is due in 10 seconds. You can also <a href={addresses.enqueue({ topic })}>fill in the form</a>.
      </p>
      <Copied name="call" text={curlText({ topic, body: {}, delay: "10s" }, apiUrl, about.auth)} />
    </section>
  );
}
