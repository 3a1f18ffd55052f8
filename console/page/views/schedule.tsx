import { useQuery } from "@tanstack/preact-query";
import { useLocation } from "preact-iso";
import { zoneNames } from "../../../src/general/zone-names.ts";
import type { ScheduleJson } from "../../../src/http/answers/schedules.ts";
import { api } from "../api.ts";
import { jsonText } from "../direction.ts";
import { Action } from "../parts/action.tsx";
import { Copied } from "../parts/copied.tsx";
import { Facts } from "../parts/facts.tsx";
import { Loaded } from "../parts/loaded.tsx";
import { PauseMark } from "../parts/pause-topic.tsx";
import { ScheduleForm } from "../parts/schedule-form.tsx";
import { addresses } from "../parts/search.ts";
import { Time } from "../parts/time.tsx";
import { wordsOrExpression } from "../schedule-words.ts";
import { now, zone } from "../state.ts";
import { clockText, timeText } from "../times.ts";

type Props = { readonly schedule: ScheduleJson };

export function ScheduleView({ name = "" }: { name?: string }) {
  const schedule = useQuery({
    queryKey: ["schedule", name],
    queryFn: ({ signal }) => api.schedule(name, { signal }),
  });
  return (
    <Loaded query={schedule} what={`the schedule ${name}`}>
      {(found) => <Found schedule={found} />}
    </Loaded>
  );
}

function Found({ schedule }: Props) {
  return (
    <>
      <h1>
        {schedule.name} {schedule.paused && <PauseMark state="paused" />}
      </h1>
      <p>
        {wordsOrExpression(schedule)}. Each occurrence files a job of{" "}
        <a href={addresses.jobs({ topic: schedule.topic })}>{schedule.topic}</a>.
      </p>
      <ScheduleActions schedule={schedule} />
      <div class="columns">
        <section aria-labelledby="next-title">
          <h2 id="next-title">Next occurrences</h2>
          <NextOccurrences schedule={schedule} />
        </section>
        <div>
          <section aria-labelledby="body-title">
            <h2 id="body-title">Body of its jobs</h2>
            <Copied name="body" text={jsonText(schedule.body, 2)} />
          </section>
          <Facts fields={schedule} without={["name", "body", "next", "topic", "paused"]} />
        </div>
      </div>
    </>
  );
}

function NextOccurrences({ schedule: { paused, next, timezone } }: Props) {
  if (paused) return <p>None while the schedule is paused. Resume it, and it files jobs again.</p>;
  if (next.length === 0) return <p>The schedule never occurs again.</p>;
  return (
    <ol>
      {next.map((at) => (
        <li key={at}>
          <Time at={at} /> <OwnTime at={Date.parse(at)} timezone={timezone} />
        </li>
      ))}
    </ol>
  );
}

/** The time in the schedule's zone, unless the page shows the same. */
function OwnTime({ at, timezone }: { at: number; timezone: string }) {
  // A browser that is older than the schedule's zone cannot tell its times.
  if (!zoneNames().has(timezone) || clockText(at, timezone) === clockText(at, zone.value)) return null;
  return (
    <div class="quiet">
      {timeText(at, now.value, timezone)} in {timezone}
    </div>
  );
}

function ScheduleActions({ schedule }: Props) {
  return (
    <div class="buttons">
      <RunNow schedule={schedule} />
      {schedule.paused ? <Resume schedule={schedule} /> : <Pause schedule={schedule} />}
      <ScheduleForm label="Edit" schedule={schedule} />
      <Delete schedule={schedule} />
    </div>
  );
}

function RunNow({ schedule: { name, topic } }: Props) {
  return (
    <Action
      label="Run now"
      title={`Run ${name} now?`}
      confirm="File a job now"
      run={async () => {
        const job = await api.runSchedule(name);
        return { text: `Filed a job of ${topic}.`, href: addresses.job(job.id), link: "Show the job" };
      }}
    >
      <p>
        This files one job of <strong>{topic}</strong> that is due now, in addition to the occurrences.
      </p>
    </Action>
  );
}

function Resume({ schedule: { name } }: Props) {
  return (
    <Action
      label="Resume"
      title={`Resume ${name}?`}
      confirm="Resume the schedule"
      run={async () => {
        await api.resumeSchedule(name);
        return `Resumed ${name}.`;
      }}
    >
      <p>
        The schedule files jobs again, beginning with its next occurrence. Missed occurrences are not made up
        for.
      </p>
    </Action>
  );
}

function Pause({ schedule: { name } }: Props) {
  return (
    <Action
      label="Pause"
      title={`Pause ${name}?`}
      confirm="Pause the schedule"
      run={async () => {
        await api.pauseSchedule(name);
        return `Paused ${name}.`;
      }}
    >
      <p>No occurrence files a job until you resume the schedule. Jobs that are filed already still run.</p>
    </Action>
  );
}

function Delete({ schedule: { name } }: Props) {
  const { route } = useLocation();
  return (
    <Action
      label="Delete"
      title={`Delete ${name}?`}
      confirm="Delete the schedule"
      isDangerous
      run={async () => {
        await api.removeSchedule(name);
        route(addresses.schedules);
        return `Deleted ${name}.`;
      }}
    >
      <p>
        The schedule files no more jobs and cannot be brought back. Jobs that are filed already still run.
      </p>
    </Action>
  );
}
