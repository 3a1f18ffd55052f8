import { expect, test } from "vitest";
import { measuresOf } from "../../../src/environment/telemetry.ts";
import { METRICS_NAMESPACE } from "../../../src/settings/metrics.ts";
import { createWorld, MINUTE, START } from "../../support/world.ts";
import type { Call } from "../network.ts";
import { problem } from "../services/service.ts";
import { cloudWatch } from "./cloudwatch.ts";
import { alarmSpecs } from "./specs.ts";
import { type Failure, play } from "./stage.ts";

const MINUTES = 45;
const specs = alarmSpecs();

const isOf = (name: string) => (call: Call) => call.machine.name.startsWith(`${name}-`);
const reads = ({ operation }: Call): boolean => /Get|Query/.test(operation);
const sendsTo =
  (topic: string) =>
  ({ service, input }: Call): boolean =>
    service === "sqs" && (input as { QueueUrl?: string }).QueueUrl === topic;
const refused = (which: (call: Call) => boolean, name: string): Failure => ({
  refusalOf: (call) => (which(call) ? problem(name, "simulated") : undefined),
});

/** Each failure, and the alarms that must ring, each within so many minutes. The first alarm says what is wrong. */
const FAILURES: [string, Failure, Record<string, number>][] = [
  [
    "a consumer crashes before it claims",
    { consumer: "crashes" },
    { ordersFailing: 5, Warnings: 15, ordersDead: 40 },
  ],
  [
    "an untracked topic's consumer crashes before it claims",
    { consumer: "crashes", topic: "logs" },
    { logsFailing: 5, logsDead: 40 },
  ],
  ["a consumer hangs", { consumer: "hangs" }, { ordersFailing: 5, ordersDead: 15, ordersRetrying: 25 }],
  ["a consumer is too slow", { consumer: "is slow" }, { Warnings: 20, ordersBacklog: 40 }],
  ["a handler throws until its jobs are dead", { consumer: "throws" }, { ordersDead: 5, ordersRetrying: 20 }],
  [
    "a handler of an untracked topic throws",
    { consumer: "throws", topic: "logs" },
    { logsDead: 5, logsRetrying: 20 },
  ],
  ["a webhook's receiver is down", { consumer: "answers 500", topic: "hooks" }, { hooksRetrying: 20 }],
  ["a consumer is throttled", { throttled: "consumer-orders" }, { Warnings: 15, ordersDead: 40 }],
  ["an untracked topic's consumer is throttled", { throttled: "consumer-logs" }, { logsDead: 40 }],
  [
    "a webhook's secret is gone",
    { consumer: "has no secret", topic: "hooks" },
    { hooksFailing: 5, Warnings: 15, hooksDead: 40 },
  ],
  [
    "the tick throws",
    refused((call) => isOf("tick")(call) && call.operation === "Query", "AccessDeniedException"),
    { TickErrors: 5, SweepLag: 10 },
  ],
  ["the tick is killed before its end", { tickLives: 3 }, { TickErrors: 5 }],
  ["the tick is starved", { throttled: "tick" }, { TickMissing: 5 }],
  [
    "the table throttles",
    refused(
      (call) => call.service === "dynamodb" && !reads(call) && call.index % 2 === 0,
      "ProvisionedThroughputExceededException",
    ),
    { TableThrottled: 10 },
  ],
  ["a queue is missing", refused(sendsTo("orders"), "QueueDoesNotExist"), { Warnings: 5 }],
  ["a queue takes no messages", refused(sendsTo("orders"), "KmsAccessDenied"), { Warnings: 15 }],
  ["an event's rule has no queue", { events: "their rule has no queue" }, { EventsUndeliveredAnyonePaid: 5 }],
  ["events cannot be applied", { events: "their function crashes" }, { EventsFailing: 5, EventsLost: 40 }],
  ["callers file too many far jobs", { farJobs: "are too many" }, { Warnings: 2 }],
  ["a chain of jobs goes on without end", { chain: "goes on without end" }, { Warnings: 3 }],
  ["occurrences cannot be filed", { occurrences: "are given up" }, { OccurrencesLost: 1 }],
];

test("no alarm rings while nothing goes wrong", async () => {
  expect([...(await play(specs, {}, 3 * MINUTES))]).toEqual([]);
});

test.each(FAILURES)("when %s, its alarms ring and no others", async (_, failure, rings) => {
  const rang = await play(specs, failure, MINUTES);
  expect([...rang.keys()].sort()).toEqual(Object.keys(rings).sort());
  for (const [alarm, most] of Object.entries(rings))
    expect(rang.get(alarm)?.[0]?.from).toBeLessThanOrEqual(most);
  // The failure lasts, so no notice may say that it is over, and `Warnings` rings once.
  const ended = specs.filter(({ id, tellsEnd }) => tellsEnd && rang.get(id)?.some((one) => one.until));
  expect(ended).toEqual([]);
  expect(rang.get("Warnings")?.length ?? 1).toBe(1);
});

// The audit counts a late job about once an hour on its first day, and then each six hours.
test.each([
  ["one job waits", 1],
  ["360 jobs wait", 360],
])("while %s for a worker for 30 hours, Warnings rings twice, and tells no end", async (_, jobs) => {
  const world = createWorld();
  const watch = cloudWatch(specs);
  for (let i = 0; i < jobs; i++) await world.fileAll({ topic: "work", delay: i * MINUTE });
  for (let minute = 0; minute < 30 * 60; minute++) {
    const before = world.events.length;
    await world.pass(MINUTE);
    for (const { name, value } of world.events.slice(before).flatMap(measuresOf))
      watch.put({ namespace: METRICS_NAMESPACE, name, of: "minutehand" }, value, world.now() - 1);
    watch.evaluate(world.now());
  }
  const rings = watch.rings().get("Warnings") ?? [];
  expect(rings).toHaveLength(2);
  expect(rings[0]?.from).toBeLessThan(START + 20 * MINUTE);
  expect(specs.find(({ id }) => id === "Warnings")?.tellsEnd).toBe(false);
});

test("an alarm rings if ticks of each five minutes of an hour have started three further invocations, and not after 50 minutes", () => {
  const rungAfter = (minutes: number, invocationsIn: (minute: number) => number): boolean => {
    const watch = cloudWatch(specs);
    const tick = { namespace: "AWS/Lambda", name: "Invocations", of: "tick" };
    for (let minute = 0; minute < minutes; minute++)
      for (let i = 0; i < invocationsIn(minute); i++) watch.put(tick, 1, minute * 60_000);
    watch.evaluate(minutes * 60_000);
    return watch.rings().has("TickDivided");
  };
  const one = () => 1;
  const two = () => 2;
  const fourInFiveMinutes = (minute: number) => (minute % 5 === 0 ? 4 : 1);
  expect([rungAfter(60, two), rungAfter(60, fourInFiveMinutes)]).toEqual([true, true]);
  expect([rungAfter(50, two), rungAfter(60, one)]).toEqual([false, false]);
});

/** What a trouble that lasts for three hours writes in each minute. */
const SILENT_IN_BETWEEN: [string, string, (minute: number) => number | undefined][] = [
  ["each second tick fails", "TickErrors", (minute) => minute % 2],
  [
    "no tick reports the lag for some minutes, because they die",
    "SweepLag",
    (minute) => (minute % 12 < 6 ? 300_000 : undefined),
  ],
  [
    "writers pause for some minutes after they were throttled",
    "TableThrottled",
    (minute) => (minute % 12 < 6 ? 9 : undefined),
  ],
  [
    "the audit sends a job again each hour to a function that crashes",
    "ordersFailing",
    (minute) => (minute % 72 < 20 ? 1 : undefined),
  ],
  [
    "the jobs that fail come in the first half of each hour",
    "ordersRetrying",
    (minute) => (minute % 60 < 30 ? 1 : undefined),
  ],
  [
    "an event comes each half an hour and is dropped",
    "EventsUndeliveredAnyonePaid",
    (minute) => (minute % 30 ? undefined : 1),
  ],
];

test.each(SILENT_IN_BETWEEN)(
  "if %s, %s rings again while the trouble lasts, so it tells no end",
  (_, id, valueIn) => {
    const watch = cloudWatch(specs);
    const spec = specs.find((one) => one.id === id);
    for (let minute = 0; minute < 180; minute++) {
      const value = valueIn(minute);
      if (spec !== undefined && value !== undefined) watch.put(spec.metric, value, minute * MINUTE);
      watch.evaluate((minute + 1) * MINUTE);
    }
    expect(watch.rings().get(id)?.length).toBeGreaterThan(1);
    expect(spec?.tellsEnd).toBe(false);
  },
);

test("each alarm rings for some failure, except those that repeat what another alarm says", () => {
  const rung = FAILURES.flatMap(([, , rings]) => Object.keys(rings));
  const silent = specs.map(({ id }) => id).filter((id) => !rung.includes(id));
  // The other `Backlog` alarms have the rule of `ordersBacklog`. The test above rings `TickDivided`.
  const known = ["EventsBacklog", "TickDivided", "hooksBacklog", "logsBacklog"];
  expect(silent.sort()).toEqual(known);
});

test("a tracked topic's default alarms ring whenever Failing or Backlog does, so it has neither by default", () => {
  const byDefault = ["Dead", "Warnings"];
  for (const [failure, , rings] of FAILURES) {
    const names = Object.keys(rings).map((name) => name.replace(/^(orders|hooks)/, ""));
    if (["Failing", "Backlog"].some((name) => names.includes(name)))
      expect(
        byDefault.some((name) => names.includes(name)),
        failure,
      ).toBe(true);
  }
});
