/** An hour in which a partner of the topic `payment-notice` answers slowly, minute by minute. The dashboard's picture shows it. */

export const CAPTION = [
  "An example. At 03:10 the partner of payment-notice begins to answer slowly. Its ready messages grow old, its jobs start late,",
  "and some jobs die: the alarms Backlog and Dead of this topic ring. order-timeout and the tick are fine, so the cause is behind payment-notice.",
  "At 03:32 the partner is back, and the backlog is worked off within minutes. At 03:50 the dead jobs are redriven.",
];
/** The alarms that ring in this hour, by their topic and kind. */
export const RINGING = ["payment-notice Backlog", "payment-notice Dead"];
export const MINUTES = 60;
export const HOUR = "03";

const [SLOW, BACK, REDRIVEN] = [10, 32, 50];
/** Jobs that become due and that can start, a minute. */
const DUE = { "order-timeout": 30, "payment-notice": 120 } as const;
const [USUAL_STARTS, SLOW_STARTS] = [400, 20];
/** How late jobs start if nothing is wrong, ms. */
const USUAL_LATE = { p50: 180, p99: 420, longest: 700 } as const;

type Topic = keyof typeof DUE;
type Line = readonly number[];

const isSlow = (minute: number): boolean => minute >= SLOW && minute < BACK;
const each = (value: (minute: number) => number): Line =>
  Array.from({ length: MINUTES }, (_, at) => value(at));
/** A small wave, because no graph of a real queue is a straight line. */
const around = (value: number): Line =>
  each((at) => value * (1 + 0.06 * Math.sin(at * 1.7) + 0.04 * Math.sin(at * 0.6)));

/** The jobs of `payment-notice` that have started by the end of each minute. */
const STARTED: Line = (() => {
  let started = 0;
  return each((at) => {
    const most = started + (isSlow(at) ? SLOW_STARTS : USUAL_STARTS);
    started = Math.min(most, (at + 1) * DUE["payment-notice"]);
    return started;
  });
})();
const READY: Line = each((at) => (at + 1) * DUE["payment-notice"] - (STARTED[at] ?? 0));
/** Jobs start in the order in which they became due. */
const AGE_S: Line = each((at) => ((READY[at] ?? 0) / DUE["payment-notice"]) * 60);
const DIED: Line = each((at) => (at > SLOW + 6 && at <= BACK ? 2 : 0));

function lateness(usual: number): Readonly<Record<Topic, Line>> {
  return {
    "order-timeout": around(usual),
    "payment-notice": each((at) => Math.max(around(usual)[at] ?? 0, (AGE_S[at] ?? 0) * 1000)),
  };
}

const started: Readonly<Record<Topic, Line>> = {
  "order-timeout": around(DUE["order-timeout"]),
  "payment-notice": each((at) => (STARTED[at] ?? 0) - (STARTED[at - 1] ?? 0)),
};
const due: Readonly<Record<Topic, Line>> = {
  "order-timeout": around(DUE["order-timeout"]),
  "payment-notice": around(DUE["payment-notice"]),
};
const none = each(() => 0);
const only = (line: Line): Readonly<Record<Topic, Line>> => ({
  "order-timeout": none,
  "payment-notice": line,
});

/** By the title of a graph: its lines by their labels. A graph that is not here shows that nothing happened. */
export const LINES: Readonly<Record<string, Readonly<Record<string, Line>>>> = {
  "Lateness of first attempts, p50, ms": lateness(USUAL_LATE.p50),
  "Lateness of first attempts, p99, ms": lateness(USUAL_LATE.p99),
  "Lateness of first attempts, longest, ms": lateness(USUAL_LATE.longest),
  "Jobs sent and started, a minute": {
    "sent to the ready queues": around(DUE["order-timeout"] + DUE["payment-notice"]),
    "started for the first time": each(
      (at) => (started["order-timeout"][at] ?? 0) + (started["payment-notice"][at] ?? 0),
    ),
  },
  "Jobs sent to SQS, a minute": due,
  "First attempts started, a minute": started,
  "Ready messages": { "order-timeout": none, "payment-notice": READY },
  "Age of the oldest ready message, s": { "order-timeout": none, "payment-notice": AGE_S },
  "Messages in flight": {
    "order-timeout": around(2),
    "payment-notice": each((at) => (isSlow(at) ? 60 : (around(6)[at] ?? 0))),
  },
  "Messages that SQS still delays": { "order-timeout": around(90), "payment-notice": around(360) },
  "Attempts that failed and are retried, a minute": only(each((at) => (isSlow(at) ? 12 : 0))),
  "Jobs that died, a minute": only(DIED),
  "Messages in the DLQ": only(
    each((at) => (at >= REDRIVEN ? 0 : DIED.slice(0, at + 1).reduce((sum, count) => sum + count, 0))),
  ),
  "Duration of the tick, ms": { tick: around(900) },
  "Units of the table, an hour": { "write units": around(64_000), "read units": around(31_000) },
  "Messages of SQS, all topics, an hour": {
    sent: around(9_300),
    received: around(9_300),
    "empty receives": around(1_100),
  },
  "Invocations of the functions, an hour": { tick: around(60), API: around(8_800) },
  "Run time of the functions, s an hour": { tick: around(54), API: around(310) },
  "Calls of the API, an hour": { calls: around(8_800) },
};
