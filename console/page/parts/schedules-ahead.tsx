import { Fragment } from "preact";
import { useMemo } from "preact/hooks";
import type { ScheduleSummary } from "../../../src/http/answers/schedules.ts";
import { useSchedules } from "../reads.ts";
import { occurrencesOf } from "../schedule-words.ts";
import { now } from "../state.ts";
import { MINUTE } from "../times.ts";
import { listedRange } from "./job-bulks.tsx";
import { addresses, useSearch } from "./search.ts";

const MOST_NAMED = 5;

/** Names the schedules that will file jobs in the range of the list. An occurrence files its job when it comes, so the list lacks these jobs. */
export function SchedulesAhead() {
  const [{ state }] = useSearch();
  const filing = useFiling();
  if (filing.length === 0 || (state && state !== "scheduled")) return null;
  const others = filing.length - MOST_NAMED;
  return (
    <p class="quiet">
      {filing.length === 1 ? "And 1 schedule" : `And ${filing.length} schedules`} will file more jobs in this
      range:{" "}
      {filing.slice(0, MOST_NAMED).map(({ name }, at) => (
        <Fragment key={name}>
          {at > 0 && ", "}
          <a href={addresses.schedule(name)}>{name}</a>
        </Fragment>
      ))}
      {others > 0 && (
        <>
          {" "}
          and <a href={addresses.schedules}>{others === 1 ? "1 other" : `${others} others`}</a>
        </>
      )}
      .
    </p>
  );
}

/** Computed anew with each minute, and not with each second. */
function useFiling(): readonly ScheduleSummary[] {
  const [{ topic, tag, group, from, to }] = useSearch();
  const { data } = useSchedules(MINUTE);
  const minute = Math.floor(now.value / MINUTE);
  return useMemo(() => {
    const range = listedRange(from, to);
    const after = Math.max(now.value, Date.parse(range.from) - 1);
    const isMeant = (schedule: ScheduleSummary) =>
      !schedule.paused &&
      schedule.next.length > 0 &&
      (!topic || schedule.topic === topic) &&
      (!tag || schedule.tag === tag) &&
      (!group || schedule.group === group);
    return (data ?? []).filter(
      (schedule) => isMeant(schedule) && occurrencesOf(schedule, after, Date.parse(range.to), 1).length > 0,
    );
  }, [data, minute, topic, tag, group, from, to]);
}
