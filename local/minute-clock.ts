import { randomUUID } from "node:crypto";

const MINUTE_MS = 60_000;

/** Calls `onMinute` with the minute's beginning, in ms since the epoch, at each minute of the wall clock. */
export function startMinuteClock(onMinute: (minute: number) => void): { stop: () => void } {
  let next = (Math.floor(Date.now() / MINUTE_MS) + 1) * MINUTE_MS;
  let timer = setTimeout(check, next - Date.now());

  function check(): void {
    const now = Date.now();
    // Timers may fire a moment early; a machine that slept wakes up late, and one minute is made up for.
    if (now >= next) {
      const minute = Math.floor(now / MINUTE_MS) * MINUTE_MS;
      next = minute + MINUTE_MS;
      onMinute(minute);
    }
    timer = setTimeout(check, Math.max(1, next - Date.now()));
  }

  return { stop: () => clearTimeout(timer) };
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
