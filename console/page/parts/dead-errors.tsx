import { useQuery } from "@tanstack/preact-query";
import type { TopicJson } from "../../../src/http/answers/topics.ts";
import { api } from "../api.ts";
import { groupByError } from "../error-groups.ts";
import { firstOf } from "../reads.ts";
import { Time } from "./time.tsx";

const NAMED_KINDS = 3;
const MOST_NAMED_KINDS = 8;

/** How many kinds are named: so many that the others together are no more than the first. */
function namedOf(kinds: readonly { readonly count: number }[]): number {
  const [first] = kinds;
  const sumFrom = (place: number) => kinds.slice(place).reduce((sum, { count }) => sum + count, 0);
  let named = NAMED_KINDS;
  while (named < MOST_NAMED_KINDS && sumFrom(named) > (first?.count ?? 0)) named += 1;
  return named;
}

type Props = {
  readonly topic: TopicJson /** Whether each line says when the newest of its jobs died. */;
  readonly hasTimes?: boolean;
};

/** `9 × HTTP 503`, `3 × TypeError`, each in a line. */
export function DeadErrors({ topic, hasTimes = false }: Props) {
  const { data: kinds, error } = useDeadErrors(topic);
  if (topic.policy.tracking === "none")
    return <p class="quiet">Its jobs are untracked, so their errors are not stored.</p>;
  if (kinds === undefined)
    return <p class="quiet">{error ? "Their errors could not be read." : "Reading their errors …"}</p>;
  const sum = kinds.reduce((all, { count }) => all + count, 0);
  const named = namedOf(kinds);
  const others = kinds.slice(named).reduce((all, { count }) => all + count, 0);
  const isPart = sum >= READ_JOBS;
  return (
    <>
      {isPart && <p class="quiet">Of the oldest {sum.toLocaleString("en")}:</p>}
      <ul class="kinds quiet">
        {kinds.slice(0, named).map(({ name, count, last }) => (
          <li key={name} class="kind">
            {count.toLocaleString("en")} × {name}
            {/* Newer ones may not be read. */}
            {hasTimes && !isPart && (
              <>
                , newest <Time at={last} show="distance" />
              </>
            )}
          </li>
        ))}
        {others > 0 && <li class="kind">{others.toLocaleString("en")} × other errors</li>}
      </ul>
    </>
  );
}

const READ_JOBS = 200;

/** The kinds of the errors of a topic's dead jobs, read when their number changes. */
export function useDeadErrors({ topic, depths: { dead }, policy }: TopicJson) {
  return useQuery({
    queryKey: ["dead-errors", topic, dead],
    enabled: policy.tracking === "full",
    refetchInterval: false,
    queryFn: async ({ signal }) => {
      const jobs = await firstOf(api.dead(topic, { signal, pageSize: READ_JOBS }), READ_JOBS);
      return groupByError(jobs).map(({ name, jobs: alike, last }) => ({ name, count: alike.length, last }));
    },
    placeholderData: (before) => before,
  });
}
