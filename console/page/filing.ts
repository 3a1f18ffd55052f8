import { useMemo } from "preact/hooks";
import type { ScheduleSummary } from "../../src/http/answers/schedules.ts";
import { useSchedules } from "./reads.ts";
import { occurrencesOf } from "./schedule-words.ts";
import type { DueRange } from "./search-jobs.ts";
import { now } from "./state.ts";
import { MINUTE } from "./times.ts";

type Asked = DueRange & {
  readonly topic?: string | undefined;
  readonly tag?: string | undefined;
  readonly group?: string | undefined;
};

/**
 * The schedules that will file such jobs in a range. An occurrence files its job when it comes, so lists and counts lack these jobs. Computed
 * anew with each minute, and not with each second.
 */
export function useFiling({ topic, tag, group, from, to }: Asked): readonly ScheduleSummary[] {
  const { data } = useSchedules(MINUTE);
  const minute = Math.floor(now.value / MINUTE);
  return useMemo(() => {
    const after = Math.max(now.peek(), from - 1);
    const isMeant = (schedule: ScheduleSummary) =>
      !schedule.paused &&
      schedule.next.length > 0 &&
      (!topic || schedule.topic === topic) &&
      (!tag || schedule.tag === tag) &&
      (!group || schedule.group === group);
    return (data ?? []).filter(
      (schedule) => isMeant(schedule) && occurrencesOf(schedule, after, to, 1).length > 0,
    );
  }, [data, minute, topic, tag, group, from, to]);
}
