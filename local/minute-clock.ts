import { randomUUID } from "node:crypto";

const MINUTE_MS = 60_000;

/** Calls `onMinute` with the minute's beginning, in ms since the epoch, at each minute of the wall clock. */
export function startMinuteClock(onMinute: (minute: number) => void): { stop: () => void } {
  let last = minuteOf(Date.now());
  let timer: NodeJS.Timeout;
  check();

  function check(): void {
    const now = Date.now();
    // No wait is longer than a minute, so a wall clock that was set back is seen within one.
    timer = setTimeout(check, minuteOf(now) + MINUTE_MS - now);
    // Timers may fire a moment early; a machine that slept wakes up late, and one minute is made up for.
    if (minuteOf(now) === last) return;
    last = minuteOf(now);
    onMinute(last);
  }

  return { stop: () => clearTimeout(timer) };
}

/** The beginning of the minute that `at` lies in. */
function minuteOf(at: number): number {
  return Math.floor(at / MINUTE_MS) * MINUTE_MS;
}

/** What EventBridge sends to a rule's target on its schedule. `time` is in ms since the epoch. */
export function scheduledEvent(ruleArn: string, time: number) {
  const [, , , region, account] = ruleArn.split(":");
  return {
    version: "0",
    id: randomUUID(),
    "detail-type": "Scheduled Event",
    source: "aws.events",
    account,
    time: `${new Date(time).toISOString().slice(0, 19)}Z`,
    region,
    resources: [ruleArn],
    detail: {},
  };
}
