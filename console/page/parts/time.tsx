import { now, zone } from "../state.ts";
import { relativeText, timeText } from "../times.ts";

type Props = {
  /** ISO 8601, as the API answers times, or ms since the epoch. */
  readonly at: string | number;
  /** Which of the two texts to show. Default: both. */
  readonly show?: "time" | "distance";
};

/** A time in the chosen zone and how far it is from now. A pointer on it shows the time in UTC. */
export function Time({ at, show }: Props) {
  const ms = typeof at === "number" ? at : Date.parse(at);
  const iso = new Date(ms).toISOString();
  return (
    <time dateTime={iso} title={iso}>
      {show !== "distance" && <span class="nowrap">{timeText(ms, now.value, zone.value)}</span>}
      {show === undefined && " "}
      {show !== "time" && <span class={show ? "nowrap" : "nowrap quiet"}>{relativeText(ms, now.value)}</span>}
    </time>
  );
}
