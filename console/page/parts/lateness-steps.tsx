import { type History, type HistoryMinute, LATENESS_ENDS } from "../../history.ts";
import { minutesOf } from "../history-spans.ts";
import { durationText, HOUR } from "../times.ts";

/** How many of the first attempts of the last hour, and of the hour before, were how late. */
export function LatenessSteps({ history, topic }: { history: History; topic: string }) {
  const minutes = minutesOf(history, topic);
  const { from, to } = history;
  const last = stepsOf(minutes, to - HOUR, to);
  const before = stepsOf(minutes, to - 2 * HOUR, to - HOUR);
  const isBeforeKnown = from < to - HOUR && before.some((count) => count > 0);
  if (![...last, ...before].some((count) => count > 0)) return null;
  return (
    <section class="panel" aria-labelledby="steps-title">
      <h2 id="steps-title">How many jobs were how late</h2>
      <table class="data steps">
        <thead>
          <tr>
            <th scope="col">Late by</th>
            <th scope="col">Last hour</th>
            {isBeforeKnown && <th scope="col">The hour before</th>}
          </tr>
        </thead>
        <tbody>
          {last.map((count, place) => (
            <tr key={stepText(place)}>
              <th scope="row">{stepText(place)}</th>
              <StepCell count={count} all={last} />
              {isBeforeKnown && <StepCell count={before[place] ?? 0} all={before} />}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function StepCell({ count, all }: { count: number; all: readonly number[] }) {
  const sum = all.reduce((one, other) => one + other, 0);
  const share = sum === 0 ? 0 : count / sum;
  return (
    <td>
      <div class="step">
        <span class="step-place">
          <span class="step-bar" style={{ width: `${share * 100}%` }} />
        </span>
        <span class="number">{count.toLocaleString("en")}</span>
        <span class="number quiet">{shareText(share)}</span>
      </div>
    </td>
  );
}

function shareText(share: number): string {
  if (share > 0 && share < 0.001) return "< 0.1 %";
  return `${share >= 0.1 || share === 0 ? Math.round(share * 100) : (share * 100).toFixed(1)} %`;
}

function stepsOf(minutes: readonly HistoryMinute[], from: number, to: number): number[] {
  const own = minutes.filter(({ at }) => at >= from && at < to);
  return Array.from({ length: LATENESS_ENDS.length + 1 }, (_, place) =>
    own.reduce((all, { steps }) => all + (steps?.[place] ?? 0), 0),
  );
}

function stepText(place: number): string {
  const [from, to] = [LATENESS_ENDS[place - 1], LATENESS_ENDS[place]];
  if (to === undefined) return `over ${durationText(from ?? 0)}`;
  return from === undefined ? `up to ${durationText(to)}` : `${durationText(from)} to ${durationText(to)}`;
}
