import { describe, expect, test } from "vitest";
import { backoffMs, DEFAULT_BACKOFF } from "../../../src/core/backoff.ts";
import { measuresOf } from "../../../src/environment/telemetry.ts";
import { settlePulled } from "../../../src/protocol/run/settle-pulled.ts";
import { METRICS_NAMESPACE } from "../../../src/settings/metrics.ts";
import { pull } from "../../support/scenes.ts";
import { createWorld, HOUR, MINUTE, SECOND } from "../../support/world.ts";
import { cloudWatch } from "./cloudwatch.ts";
import { alarmSpecs } from "./specs.ts";

const specs = alarmSpecs().filter(({ id }) => id === "ordersRetrying");
const FAILED = { namespace: METRICS_NAMESPACE, name: "Failed", of: "minutehand orders" };
const RUNS = [0, 30 * SECOND, MINUTE, 4 * MINUTE, 15 * MINUTE, HOUR];

/** When the attempts of a job fail that are followed by a retry, if each run takes `run`. */
function failuresOf(dueAt: number, run: number): number[] {
  const failures: number[] = [];
  for (let attempt = 1, start = dueAt; attempt < 10; attempt++) {
    failures.push(start + run);
    start += run + backoffMs(DEFAULT_BACKOFF, attempt, 0);
  }
  return failures;
}

/** When the alarm rings first, in minutes. */
function rungAt(failures: readonly number[]): number | undefined {
  const watch = cloudWatch(specs);
  for (const time of failures) watch.put(FAILED, 1, time);
  for (let now = MINUTE; now <= Math.max(...failures) + HOUR; now += MINUTE) watch.evaluate(now);
  const first = watch.rings().get("ordersRetrying")?.[0]?.from;
  return first && first / MINUTE;
}

describe("by the default backoff", () => {
  test.each(RUNS)("one job that fails does not ring the alarm, here with runs of %i ms", (run) => {
    for (let second = 0; second < 60; second++)
      expect(rungAt(failuresOf(second * SECOND, run))).toBeUndefined();
  });

  test.each(RUNS)(
    "a job a minute rings it 15 to 17 minutes after the first failure, here with runs of %i ms",
    (run) => {
      const failures = Array.from({ length: 60 }, (_, i) => failuresOf(i * MINUTE, run)).flat();
      const rang = rungAt(failures) ?? 0;
      expect(rang - run / MINUTE).toBeGreaterThanOrEqual(15);
      expect(rang - run / MINUTE).toBeLessThanOrEqual(17);
    },
  );

  test("a job each ten minutes rings it within 20 minutes, and one each half an hour never", () => {
    const failures = (minutes: number) =>
      Array.from({ length: (24 * 60) / minutes }, (_, i) => i * minutes * MINUTE).flatMap((dueAt) =>
        failuresOf(dueAt, SECOND),
      );
    expect(rungAt(failures(10))).toBeLessThanOrEqual(20);
    expect(rungAt(failures(30))).toBeUndefined();
  });
});

/** A worker that fails each job which it receives, and a job each so many minutes. Answers after how many minutes the alarm rings. */
async function pulled(jobs: number, minutes: number): Promise<number | undefined> {
  const world = createWorld({ topics: { orders: { consumer: "pull" } } });
  const watch = cloudWatch(specs);
  const start = world.now();
  for (let minute = 0; minute < minutes; minute++) {
    const before = world.events.length;
    if (minute < jobs) await world.fileAll({ topic: "orders" });
    for (const { receipt } of await pull(world, "orders"))
      await settlePulled(world.ctx, "orders", receipt, { end: "failed", error: "x", verb: "retry" });
    for (const { name, value, topic } of world.events.slice(before).flatMap(measuresOf))
      watch.put({ namespace: METRICS_NAMESPACE, name, of: `minutehand ${topic}` }, value, world.now());
    await world.pass(MINUTE);
    watch.evaluate(world.now());
  }
  const first = watch.rings().get("ordersRetrying")?.[0]?.from;
  return first && (first - start) / MINUTE;
}

test("a pull topic whose worker fails a job a minute rings it within 20 minutes, and one job alone does not", async () => {
  expect(await pulled(30, 30)).toBeLessThanOrEqual(20);
  expect(await pulled(1, 27 * 60)).toBeUndefined();
});
