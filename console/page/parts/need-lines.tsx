import type { Need } from "../needs.ts";
import type { Topic } from "../reads.ts";
import { now, zone } from "../state.ts";
import { timeText } from "../times.ts";
import { DeadErrors } from "./dead-errors.tsx";
import { CalendarClock, Check, CirclePause, CircleX, ClockAlert, RotateCw, TriangleAlert } from "./icon.tsx";
import { ResumeTopic } from "./pause-topic.tsx";
import { RedriveAll } from "./redrive.tsx";

const ICONS = {
  sweep: TriangleAlert,
  late: ClockAlert,
  later: ClockAlert,
  schedule: CalendarClock,
  dead: CircleX,
  letters: CircleX,
  retrying: RotateCw,
  paused: CirclePause,
} satisfies Readonly<Record<Need["kind"], unknown>>;

type Props = { readonly needs: readonly Need[]; readonly topics: readonly Topic[] };

/** What needs a person, the most urgent first, each with what settles it. */
export function NeedLines({ needs, topics }: Props) {
  return (
    <section aria-labelledby="needs-title" class="panel needs">
      <h2 id="needs-title">What needs you</h2>
      {needs.length === 0 ? (
        <Calm topics={topics} />
      ) : (
        <ul>
          {needs.map((need) => (
            <NeedLine
              key={`${need.kind} ${need.of}`}
              need={need}
              topic={topics.find(({ topic }) => topic === need.of)}
            />
          ))}
        </ul>
      )}
      <Sampled topics={topics} />
    </section>
  );
}

function Calm({ topics }: Pick<Props, "topics">) {
  const isCut = topics.some(({ late }) => late?.atLeast);
  return (
    <p class="calm">
      <Check class="icon" size={16} aria-hidden="true" />
      Nothing. {isCut ? CUT : "No job is late or dead,"} and the sweep is on time.
    </p>
  );
}

const CUT = "No job is dead, of the jobs that were looked at none is late,";

/** A large queue is always sampled, so this is not something that a person must do. */
function Sampled({ topics }: Pick<Props, "topics">) {
  const since = topics.flatMap(({ sampledSince }) => sampledSince ?? []).sort()[0];
  if (since === undefined) return null;
  return (
    <p class="quiet sampled">
      Only a sample of the jobs that were due since {timeText(Date.parse(since), now.value, zone.value)} was
      looked at. A late job among the others is found 7 to 12 minutes after it was due.
    </p>
  );
}

type LineProps = { readonly need: Need; readonly topic: Topic | undefined };

function NeedLine({ need, topic }: LineProps) {
  const { kind, severity, href, text, more } = need;
  const Icon = ICONS[kind];
  return (
    <li class={severity}>
      <Icon class={`icon ${kind}`} size={16} aria-hidden="true" />
      <div>
        <a href={href} data-line>
          {text}
        </a>
        {more !== undefined && <p class="quiet">{more}</p>}
        {kind === "dead" && topic && <DeadErrors topic={topic} />}
      </div>
      {kind === "paused" && topic?.pause && <ResumeTopic {...topic} pause={topic.pause} />}
      {kind === "dead" && topic && (
        <RedriveAll topic={topic.topic} errors={topic.dead.kinds.map(({ title }) => title)} />
      )}
    </li>
  );
}
