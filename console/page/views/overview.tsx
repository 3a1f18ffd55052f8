import { OVERDUE_COUNTED } from "../../../client/overdue.ts";
import { USUAL_LAG } from "../../../core/constants.ts";
import type { TopicJson } from "../../../http/answers.ts";
import type { Lateness } from "../lateness.ts";
import { Bars } from "../parts/bars.tsx";
import { Empty, Loaded } from "../parts/loaded.tsx";
import { PauseTopic, parkedText, ResumeTopic } from "../parts/pause-topic.tsx";
import { addresses } from "../parts/search.ts";
import { AHEAD_MINUTES, useDueNext, useLateJobs, useLateness, useTopics } from "../reads.ts";
import { durationText, MINUTE } from "../times.ts";

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
            <>
              <Needs topics={found} />
              <p class="sweep">{sweepText(found)}</p>
              <ul class="topics">
                {found.map((topic) => (
                  <TopicCard key={topic.topic} topic={topic} lateness={lateness.data?.get(topic.topic)} />
                ))}
              </ul>
            </>
          )
        }
      </Loaded>
    </>
  );
}

/** What a person should look at, the most urgent first. */
function Needs({ topics }: { topics: readonly TopicJson[] }) {
  const late = useLateJobs();
  const lateTopics = Map.groupBy(late.data ?? [], ({ topic }) => topic);
  const lag = lagOf(topics);
  const needs = [
    ...(lag > USUAL_LAG
      ? [
          {
            href: addresses.overview,
            text: `The sweep is ${durationText(lag)} behind: jobs may start late. Look at the log of the tick.`,
          },
        ]
      : []),
    ...[...lateTopics].map(([topic, jobs]) => ({
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
        href: addresses.dead({ topic }),
        text: `${jobsText(depths.dead)} of ${topic} ${depths.dead === 1 ? "is" : "are"} dead and ${depths.dead === 1 ? "waits" : "wait"} for a decision. See the errors.`,
      })),
    ...topics.flatMap(({ topic, pause }) =>
      pause?.state === "paused"
        ? [
            {
              href: addresses.jobs({ topic }),
              text: `${topic} is paused${pause.parked > 0 ? `, and holds ${parkedText(pause.parked)}` : ""}.`,
            },
          ]
        : [],
    ),
  ];
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

function jobsText(count: number): string {
  return count === 1 ? "1 job" : `${count.toLocaleString("en")} jobs`;
}

/** A range ends before its `to`. */
function justAfter(time: string | undefined): string | undefined {
  return time === undefined ? undefined : new Date(Date.parse(time) + 1).toISOString();
}

function sweepText(topics: readonly TopicJson[]): string {
  const lag = lagOf(topics);
  if (lag <= USUAL_LAG) return "The sweep is on time: all jobs of the next minutes are on their way.";
  return `The sweep is ${durationText(lag)} behind.`;
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
  // The API calls a topic `resuming` for some minutes after its last job was released.
  const isReleasing = pause?.state === "resuming" && pause.parked > 0;
  return (
    <li class="card" aria-labelledby={`topic-${topic}`}>
      <div class="card-head">
        <h2 id={`topic-${topic}`}>
          <a href={addresses.jobs({ topic })}>{topic}</a>
        </h2>
        <span class="quiet">{consumerText(policy)}</span>
        {isPaused && <span class="badge held">❚❚ paused</span>}
        {isReleasing && <span class="badge held">▶ resuming</span>}
      </div>
      <DueNext topic={topic} />
      <dl class="figures">
        <Figure name="ready" value={depths.ready.toLocaleString("en")} />
        <Figure name="delayed" value={depths.delayed.toLocaleString("en")} />
        <Figure name="in flight" value={depths.inFlight.toLocaleString("en")} />
        <Figure name="held" value={pause ? parkedText(pause.parked).replace(/ jobs?/, "") : "0"} />
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
        {pause && (isPaused || isReleasing) && <ResumeTopic topic={topic} pause={pause} />}
        {!isPaused && <PauseTopic topic={topic} />}
        <a class="button" href={addresses.enqueue({ topic })}>
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
  name: string;
  value: string;
  href?: string | undefined;
  title?: string;
  isWide?: boolean;
}) {
  return (
    <div title={title} class={isWide ? "wide" : undefined}>
      <dt>{name}</dt>
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
