import { Fragment } from "preact";
import { useFiling } from "../filing.ts";
import { listedRange } from "./job-bulks.tsx";
import { addresses, useSearch } from "./search.ts";

const MOST_NAMED = 5;

/** Names the schedules that will file jobs in the range of the list. */
export function SchedulesAhead() {
  const [{ state, topic, tag, group, ...asked }] = useSearch();
  const { from, to } = listedRange(asked.from, asked.to);
  const filing = useFiling({ topic, tag, group, from: Date.parse(from), to: Date.parse(to) });
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
