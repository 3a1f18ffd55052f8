import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createTelemetry, measuresOf } from "../../src/environment/telemetry.ts";
import type { DropReason, ProtocolEvent } from "../../src/protocol/reports.ts";
import { METRICS, type MetricName } from "../../src/settings/metrics.ts";
import { createWorld, HOUR, MINUTE } from "../support/world.ts";

const JOB = { topic: "t", id: "i", attempt: 1, error: "e", jobs: 1 };
const DROP_REASONS: Readonly<Record<DropReason, true>> = {
  finished: true,
  moved: true,
  gone: true,
  running: true,
  crashed: true,
  expired: true,
  paused: true,
};

/** An event of each type, with every field that leads to a metric. The type makes a missing event a compile error. */
const EVENTS: { readonly [T in ProtocolEvent["type"]]: ProtocolEvent & { type: T } } = {
  enqueued: { ...JOB, type: "enqueued", dueAt: 0 },
  moved: { ...JOB, type: "moved", dueAt: 0, why: "w" },
  cancelled: { ...JOB, type: "cancelled" },
  tombstone: { topic: "t", type: "tombstone", until: 0 },
  "event-applied": { type: "event-applied", event: "e", rules: [] },
  "handed-over": { ...JOB, type: "handed-over", messages: 1 },
  "hand-over-failed": { ...JOB, type: "hand-over-failed", reason: "r" },
  started: { ...JOB, type: "started", dueAt: 0, lateMs: 2, heldMs: 1 },
  paused: { topic: "t", type: "paused" },
  resumed: { topic: "t", type: "resumed" },
  parked: { ...JOB, type: "parked" },
  released: { ...JOB, type: "released" },
  deferred: { ...JOB, type: "deferred" },
  dropped: { ...JOB, type: "dropped", reason: "moved" },
  done: { ...JOB, type: "done" },
  threw: { ...JOB, type: "threw", error: { message: "e" } },
  failed: { ...JOB, type: "failed" },
  dead: { ...JOB, type: "dead", hasLetter: false },
  expired: { ...JOB, type: "expired" },
  skipped: { ...JOB, type: "skipped" },
  swept: { type: "swept", shard: 0, entries: 1, lagMs: 150_001 },
  audited: { type: "audited", shard: 0, entries: 1, found: 1 },
  trouble: { topic: "t", type: "trouble", what: "w", error: "e" },
  unreadable: { type: "unreadable", what: "w", jobs: 1, id: "i", error: "e" },
  unscheduled: { type: "unscheduled", jobs: 1 },
  missed: { topic: "t", type: "missed", schedule: "s", times: [0, 1] },
  "skipped-in-pause": { topic: "t", type: "skipped-in-pause", schedule: "s", occurrences: 2 },
  throttled: { type: "throttled", topic: "orders", id: "1", since: 1 },
  runaway: { ...JOB, type: "runaway" },
  notified: { topic: "t", type: "notified", id: "i", event: "JobCompleted" },
  "not-notified": { ...JOB, type: "not-notified" },
  "dead-letters-removed": { topic: "t", type: "dead-letters-removed", messages: 1 },
};

describe("the metrics", () => {
  const drops = Object.keys(DROP_REASONS).map((reason) => ({
    ...EVENTS.dropped,
    reason: reason as DropReason,
  }));
  const measures = [...Object.values(EVENTS), ...drops].flatMap(measuresOf);

  test.each(Object.keys(METRICS) as MetricName[])("%s is written for some event", (name) => {
    const measured = measures.find((measure) => measure.name === name);
    expect(measured && (measured.topic === undefined ? "queue" : "topic")).toBe(METRICS[name].by);
  });

  test("have no value while nothing happens", async () => {
    const { pass, events } = createWorld();
    await pass(HOUR);
    expect(events.map(({ type }) => type)).toContain("swept");
    // The first sweep of a new table is behind: it begins before the first possible job.
    const later = events.slice(events.findIndex(({ type }) => type === "audited"));
    expect(later.flatMap(measuresOf)).toEqual([]);
  });

  test("ring an alarm for a target that stays throttled", () => {
    expect(measuresOf(EVENTS.throttled)).toEqual([
      { name: "AuditFound", value: 1 },
      { name: "Warnings", value: 1 },
    ]);
  });

  test("tell that a sweep is behind", async () => {
    const { pass, tick, events } = createWorld();
    await pass(HOUR);
    await pass(5 * MINUTE, { ticks: false });
    events.length = 0;
    await tick();
    // The cursor of an idle shard is written every second minute.
    expect(events.flatMap(measuresOf)).toContainEqual({ name: "SweepLag", value: 6 * MINUTE });
  });
});

describe("the metrics of topics", () => {
  test.each([
    [undefined, ["HandedOver", "Lateness"]],
    ["Lateness,Dead", ["Lateness"]],
    ["none", []],
  ])("are those that the environment names, here %s", (named, written) => {
    // With `POWERTOOLS_DEV`, Powertools writes to the global console, which this test replaces, and not to a console of its own.
    const settings = { DEV: "true", METRICS_DISABLED: "false" };
    for (const [name, value] of Object.entries(settings)) vi.stubEnv(`POWERTOOLS_${name}`, value);
    const log = vi.spyOn(console, "log").mockImplementation(() => {});
    onTestFinished(() => {
      vi.unstubAllEnvs();
      vi.restoreAllMocks();
    });
    const { report, flush } = createTelemetry("shop", named);
    report(EVENTS["handed-over"]);
    report({ ...EVENTS.started, heldMs: 0 });
    report(EVENTS.unreadable);
    flush();
    const lines = log.mock.calls.map(([line]) => JSON.parse(String(line)) as Record<string, unknown>);
    const names = (topic: string | undefined) =>
      lines
        .filter((line) => line.topic === topic)
        .flatMap((line) => Object.keys(line).filter((name) => name in METRICS));
    expect(names("t")).toEqual(written);
    expect(names(undefined)).toEqual(["Unreadable"]);
  });
});
