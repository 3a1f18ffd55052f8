import type { ScheduleSummary } from "../../../src/http/answers/schedules.ts";
import { Empty, Loaded } from "../parts/loaded.tsx";
import { PauseMark } from "../parts/pause-topic.tsx";
import { ScheduleForm } from "../parts/schedule-form.tsx";
import { addresses } from "../parts/search.ts";
import { Time } from "../parts/time.tsx";
import { useSchedules } from "../reads.ts";
import { DAY_COUNTED, type StripDay, stripOf, wordsOrExpression } from "../schedule-words.ts";
import { isNarrow, now, zone } from "../state.ts";
import { dayText, MINUTE, startOfDay } from "../times.ts";

export function SchedulesView() {
  const schedules = useSchedules();
  return (
    <>
      <h1>Schedules</h1>
      <div class="buttons">
        <ScheduleForm label="New schedule" />
      </div>
      <Loaded query={schedules} what="the schedules">
        {(found) =>
          found.length === 0 ? (
            <Empty>
              <p>
                There is no schedule. A schedule files a job at each of its times, such as every day at nine.
              </p>
            </Empty>
          ) : (
            <Strip schedules={found} />
          )
        }
      </Loaded>
    </>
  );
}

function Strip({ schedules }: { schedules: readonly ScheduleSummary[] }) {
  // The strip changes with the minute, not with the second.
  const minute = Math.floor(now.value / MINUTE) * MINUTE;
  if (isNarrow.value)
    return (
      <ul class="strip-cards">
        {schedules.map((schedule) => (
          <Card key={schedule.name} schedule={schedule} minute={minute} />
        ))}
      </ul>
    );
  const days = Array.from({ length: 7 }, (_, day) => startOfDay(minute, zone.value, day));
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: whoever has no pointer scrolls the table with the arrow keys
    <section class="strip-place" tabIndex={0} aria-label="Occurrences of the next seven days">
      <table class="strip">
        <thead>
          <tr>
            <th scope="col">Schedule</th>
            <th scope="col">Next</th>
            {days.map((day) => (
              <th key={day} scope="col">
                {dayText(day, zone.value)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {schedules.map((schedule) => (
            <Lane key={schedule.name} schedule={schedule} minute={minute} />
          ))}
        </tbody>
      </table>
    </section>
  );
}

type ScheduleProps = { readonly schedule: ScheduleSummary; readonly minute: number };

function Lane({ schedule, minute }: ScheduleProps) {
  return (
    <tr>
      <th scope="row">
        <Name schedule={schedule} />
      </th>
      <td>
        <Next schedule={schedule} />
      </td>
      {stripOf(schedule, minute, zone.value).map((day) => (
        <td key={day.begin} class={schedule.paused ? "day quiet" : "day"}>
          {schedule.paused ? "–" : countText(day)}
        </td>
      ))}
    </tr>
  );
}

/** For narrow windows: a card for each schedule, with its days side by side. */
function Card({ schedule, minute }: ScheduleProps) {
  return (
    <li class="panel" aria-label={schedule.name}>
      <Name schedule={schedule} />
      <p>
        Next: <Next schedule={schedule} />
      </p>
      {!schedule.paused && (
        <dl class="strip-days">
          {stripOf(schedule, minute, zone.value).map((day) => (
            <div key={day.begin}>
              <dt class="quiet">{dayText(day.begin, zone.value)}</dt>
              <dd>{countText(day)}</dd>
            </div>
          ))}
        </dl>
      )}
    </li>
  );
}

function Name({ schedule }: Pick<ScheduleProps, "schedule">) {
  const { name, topic, paused } = schedule;
  return (
    <>
      <a href={addresses.schedule(name)} data-line>
        {name}
      </a>{" "}
      {paused && <PauseMark state="paused" />}
      <div class="quiet">
        {wordsOrExpression(schedule)}, for {topic}
      </div>
    </>
  );
}

function Next({ schedule: { paused, next } }: Pick<ScheduleProps, "schedule">) {
  const [first] = next;
  if (paused) return <>none while it is paused</>;
  return first === undefined ? <>never again</> : <Time at={first} />;
}

function countText({ count, isMore }: StripDay): string {
  if (isMore) return `over ${DAY_COUNTED}`;
  return count === 0 ? "–" : String(count);
}
