import { type Measure, measuresOf } from "../../environment/telemetry.ts";
import type { DropReason, ProtocolEvent } from "../../protocol/reports.ts";
import { code, table } from "../markdown.ts";

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
  swept: { type: "swept", shard: 0, entries: 1, lagMs: 1 },
  audited: { type: "audited", shard: 0, entries: 1, found: 1 },
  trouble: { topic: "t", type: "trouble", what: "w", error: "e" },
  unreadable: { type: "unreadable", what: "w", jobs: 1, id: "i", error: "e" },
  "dead-letters-removed": { topic: "t", type: "dead-letters-removed", messages: 1 },
};

const MEANINGS: Readonly<Record<string, string>> = {
  HandedOver: "jobs sent to the topic's ready queue",
  Lateness:
    "how long after `dueAt` a first attempt started, without the time in `Held`; in an untracked topic the time that a message waited in SQS during a pause is included",
  Held: "how much later a pause, `maxPerSecond` or a `window` made a first attempt",
  Dropped: "messages whose claim did not lead to a run",
  "Dropped-<reason>": `the same by reason: ${Object.keys(DROP_REASONS).map(code).join(", ")}`,
  Dead: "jobs that are dead",
  DeadWithoutLetter: "jobs that are dead because their topic has no queue",
  Parked: "jobs that began to wait for a resume or for the rate limit",
  Released: "parked jobs that got a time to start",
  Deferred: "jobs moved to their window's next opening, more than 210 s ahead",
  Skipped: "jobs that did not run because they came later than `ifLate` allows",
  Expired: "jobs that came later than `expiresAfter` or `ifLate` allows",
  Swept: "entries that a tick read",
  SweepLag: "how far a tick's sweep is behind; up to a minute is normal, because a tick runs once a minute",
  Audited: "entries that a tick audited",
  AuditFound: "jobs that were due and had not run; the audit sent them again",
  Unreadable: "jobs that were left alone, because a newer version wrote them or they are malformed",
};

/** The table of metrics. Throws for a metric without a meaning, and for a meaning without a metric. */
export function metrics(): string {
  const byName = new Map<string, Measure>();
  for (const measure of Object.values(EVENTS).flatMap(measuresOf))
    byName.set(measure.name.replace(/-.*/, "-<reason>"), measure);
  const missing = [...byName.keys()].filter((name) => !(name in MEANINGS));
  const gone = Object.keys(MEANINGS).filter((name) => !byName.has(name));
  if (missing.length + gone.length > 0)
    throw new Error(`each metric must have one meaning: ${[...missing, ...gone].join(", ")} differ`);
  const rows = Object.entries(MEANINGS).map(([name, meaning]) => {
    const { unit = "Count", topic } = byName.get(name) as Measure;
    return [code(name), unit, topic === undefined ? "" : code("topic"), meaning];
  });
  return table(["metric", "unit", "by", "meaning"], rows);
}
