import { expect, test } from "vitest";
import { whyNotRun } from "../../src/client/why-not-run.ts";

const NOW = Date.parse("2026-11-26T10:00:00.000Z");
const at = (seconds: number) => new Date(NOW + seconds * 1000).toISOString();
type Job = Parameters<typeof whyNotRun>[0];
type Topic = Exclude<Parameters<typeof whyNotRun>[1], string | undefined>;

const JOB: Job = { topic: "work", state: "scheduled", dueAt: at(-60), attempt: 0, maxAttempts: 3 };
const TOPIC = {
  topic: "work",
  sweepLag: 60,
  depths: { ready: 0, delayed: 0, inFlight: 0, dead: 0 },
  policy: { consumer: "lambda" },
} as Topic;
const withPolicy = (policy: object): Topic => ({ ...TOPIC, policy: { ...TOPIC.policy, ...policy } });
const withMessages = (ready: number, inFlight: number, policy: object = {}): Topic => ({
  ...withPolicy(policy),
  depths: { ...TOPIC.depths, ready, inFlight },
});
const late = { lateSince: at(-50) };
const failed = { at: at(-20), event: "failed" as const, attempt: 1, error: "the shop answered 503\n at x" };

/** The sentence with its times as a program writes them. */
function said(job: Partial<Job>, topic: Topic | "unknown" | "undeclared" = TOPIC): string {
  const parts = whyNotRun({ ...JOB, ...job }, topic === "unknown" ? undefined : topic, NOW);
  return parts.map((part) => (typeof part === "string" ? part : part.toISOString())).join("");
}

test("a job that is due later says when it starts", () => {
  expect(said({ dueAt: at(60) })).toBe(`It is due later: it starts ${at(60)}.`);
  expect(said({ dueAt: at(-1) })).toBe(`It was due ${at(-1)}, so its run begins within seconds.`);
});

test("a waiting job whose topic is not declared any more says so, and an ended one says how it ended", () => {
  expect(said({ dueAt: at(60) }, "undeclared")).toBe(
    "The queue has no topic work any more, so the job does not run. It will be dead an hour after it is due, unless the topic is declared again.",
  );
  expect(said({ state: "cancelled" }, "undeclared")).toBe("It will not run: it was cancelled.");
});

test("a job of a paused topic says who has paused the topic, since when and why", () => {
  const by = { kind: "caller" as const, name: "alice", reason: "the bank is down" };
  const pause = { state: "paused" as const, since: at(-600), by, parked: 3 };
  const ends = `The topic work has been paused since ${at(-600)} by a caller (alice), with the reason "the bank is down", so the job starts after somebody resumes the topic.`;
  expect(said({ held: true }, { ...TOPIC, pause })).toBe(`It was due ${at(-60)}. ${ends}`);
  expect(said({ dueAt: at(60) }, { ...TOPIC, pause })).toBe(`It is due ${at(60)}. ${ends}`);
  expect(said({ dueAt: at(60), attempt: 2 }, { ...TOPIC, pause })).toBe(
    `Its attempt 3 is due ${at(60)}. ${ends}`,
  );
});

test("a job of a topic that is being resumed waits for its turn, and a later job does not", () => {
  const pause = { state: "resuming" as const, since: at(-600), ratePerSecond: 5, parked: 1000 };
  expect(said({ held: true }, { ...TOPIC, pause })).toBe(
    `It was due ${at(-60)}. The topic work is being resumed at 5 jobs a second, and 1,000 or more jobs wait, so the job starts at its turn.`,
  );
  expect(said({ dueAt: at(60) }, { ...TOPIC, pause })).toBe(`It is due later: it starts ${at(60)}.`);
  expect(said({ held: true }, { ...TOPIC, pause: { ...pause, parked: 0 } })).toContain("holds it");
});

test.each([
  ["limit", { maxPerSecond: 5 }, "It waits behind the limit of its topic, 5 jobs a second"],
  ["window", { window: "9:00-17:00" }, "The window of its topic (9:00-17:00) is shut"],
  ["pause", {}, "The resume of its topic has given it its turn"],
  [
    "pause",
    { maxPerSecond: 5 },
    "The resume of its topic has given it its turn behind the limit of 5 jobs a second",
  ],
] as const)(
  "a job that a %s has given a later start says what holds it and until when",
  (kind, policy, text) => {
    const timeline = [{ at: at(-60), event: "held" as const, heldUntil: at(90), by: { kind } }];
    expect(said({ held: true, heldUntil: at(90), timeline }, withPolicy(policy))).toBe(
      `It was due ${at(-60)}. ${text}: it starts ${at(90)}.`,
    );
  },
);

test("a job that is held without a start of its own says what it waits for", () => {
  const starts = `It was due ${at(-60)}. `;
  expect(said({ held: true }, withPolicy({ maxPerSecond: 5 }))).toBe(
    `${starts}It waits behind the limit of its topic, 5 jobs a second: the jobs before it start first.`,
  );
  expect(said({ held: true }, withPolicy({ window: "9:00-17:00" }))).toBe(
    `${starts}The window of its topic (9:00-17:00) is shut: it starts when the window opens.`,
  );
  expect(said({ held: true }, "unknown")).toBe(`${starts}A pause or a resume of its topic holds it.`);
});

const LATE = `It is late: it could start since ${at(-50)}. `;

test.each([
  [
    "a worker",
    withMessages(7, 0, { consumer: "pull" }),
    /^It waits for a worker: 7 messages wait in .*no worker/,
  ],
  ["a busy worker", withMessages(0, 2, { consumer: "pull" }), /^Its worker has received all messages/],
  [
    "a function",
    withMessages(1, 2),
    /^It waits for the topic's function: 1 message waits .*2 are in flight.*throttled/,
  ],
  ["a receiver", withMessages(4, 1, { consumer: "webhook" }), /1 is in flight.*its receiver is too slow\.$/],
  ["the sweep", { ...withMessages(7, 0), sweepLag: 900 }, /^The sweep is 900 s behind/],
  [
    "an audit",
    TOPIC,
    /^No message waits .* sends it again, usually 7 to 15 minutes after the job could start\.$/,
  ],
  [
    "a handler",
    withMessages(1, 0),
    /1 message waits .*, and none is in flight\. The topic has no handler, or/,
  ],
  ["an unknown topic", "unknown" as const, /^Its consumer is slow or does not run\.$/],
])("a late job says that it waits for %s", (_, topic, text) => {
  const sentence = said(late, topic);
  expect(sentence.slice(0, LATE.length)).toBe(LATE);
  expect(sentence.slice(LATE.length)).toMatch(text);
});

test.each([
  [20 * 60, "hour"],
  [25 * 3600, "6 hours"],
  [8 * 86_400, "24 hours"],
])("a job that is late by %s s waits for the next of the audit's checks", (seconds, every) => {
  const sentence = said({ lateSince: at(-seconds) });
  expect(sentence).toContain("If its message was lost, an audit sends it again at its next check.");
  expect(sentence).toMatch(new RegExp(` is checked every ${every}\\.$`));
});

test("a running job says since when, and what happens if nothing is heard of its run", () => {
  expect(said({ state: "running", attempt: 1, claimedAt: at(-5), leaseUntil: at(25) })).toBe(
    `Attempt 1 of 3 is running since ${at(-5)}. If nothing is heard of the run until ${at(25)}, the job runs again.`,
  );
});

test("a running job whose lease has just ended says so", () => {
  expect(said({ state: "running", attempt: 1, claimedAt: at(-40), leaseUntil: at(-10) })).toBe(
    `Attempt 1 of 3 is running since ${at(-40)}. Nothing was heard of the run until its lease ended ${at(-10)}, so the job soon runs again.`,
  );
});

test("a job whose run has lost its lease says that nothing was heard of it", () => {
  const timeline = [{ at: at(-50), event: "claimed" as const, attempt: 1 }];
  expect(said({ ...late, attempt: 1, timeline })).toContain(
    `Attempt 1 started ${at(-50)}, and then nothing was heard of it`,
  );
});

test("a retrying job says after which error, and when it runs next", () => {
  const job = { attempt: 1, dueAt: at(120), lastError: "the shop answered 503" };
  const timeline = [failed, { at: at(-20), event: "retried" as const, dueAt: at(120) }];
  expect(said({ ...job, timeline })).toBe(
    `Attempt 1 of 3 failed ${at(-20)}: "the shop answered 503". Attempt 2 starts ${at(120)}.`,
  );
  // A list answers no timeline.
  expect(said(job)).toBe(`Attempt 1 of 3 failed: "the shop answered 503". Attempt 2 starts ${at(120)}.`);
  const asked = { at: at(-10), event: "asked-to-retry" as const, attempt: 1 };
  expect(said({ ...job, timeline: [failed, asked] })).toBe(
    `The handler of attempt 1 asked ${at(-10)} to run again. Attempt 2 starts ${at(120)}.`,
  );
});

test("a webhook job that was answered 401 names the secret, and a job of a function does not", () => {
  const hint = "The receiver may have another secret than the one of minutehand receiver-secret.";
  const webhook = withPolicy({ consumer: "webhook" });
  const job = { attempt: 1, dueAt: at(120), lastError: "HTTP 401: no" };
  expect(said(job, webhook)).toBe(
    `Attempt 1 of 3 failed: "HTTP 401: no". ${hint} Attempt 2 starts ${at(120)}.`,
  );
  const dead = { ...job, state: "dead" as const, attempt: 3 };
  expect(said(dead, webhook)).toContain(`"HTTP 401: no". ${hint} Mend the cause`);
  for (const topic of [TOPIC, "unknown" as const]) expect(said(job, topic)).not.toContain("secret");
  expect(said({ ...job, lastError: "HTTP 500" }, webhook)).not.toContain("secret");
});

test("a job whose target is throttled has failed in no attempt", () => {
  const lastError = "throttled: Rate Exceeded.";
  const job = { retrying: true, dueAt: at(120), lastError };
  const ends = `could not begin ${at(-5)}, because the topic's target is throttled: "Rate Exceeded.". The target is called again ${at(120)}.`;
  const throttled = (attempt: number) => ({
    at: at(-5),
    event: "failed" as const,
    attempt,
    error: lastError,
  });
  expect(said({ ...job, timeline: [throttled(1)] })).toBe(`Attempt 1 of 3 ${ends}`);
  expect(said({ ...job, attempt: 1, timeline: [failed, throttled(2)] })).toBe(`Attempt 2 of 3 ${ends}`);
  expect(said(job)).toBe(`Attempt 1 of 3 ${ends.replace(` ${at(-5)},`, ",")}`);
  // A handler may say the same words.
  expect(said({ ...job, attempt: 1, timeline: [throttled(1)] })).toBe(
    `Attempt 1 of 3 failed ${at(-5)}: "${lastError}". Attempt 2 starts ${at(120)}.`,
  );
});

test.each([
  [3, 3, "because all 3 attempts failed"],
  [1, 1, "because its only attempt failed"],
  [1, 1000, "because its consumer gave it up in attempt 1 of 1000"],
  [undefined, 3, "because its message could not be delivered"],
])("a dead job says why: attempt %s of %s", (attempt, maxAttempts, text) => {
  const death = { at: at(-9), event: "dead" as const, error: "x".repeat(200), ...(attempt && { attempt }) };
  expect(
    said({ state: "dead", attempt: attempt ?? 0, maxAttempts, finishedAt: at(-9), timeline: [death] }),
  ).toBe(`It is dead since ${at(-9)}, ${text}: "${"x".repeat(120)}…". Mend the cause, then redrive the job.`);
});

test("an ended job says how it ended", () => {
  const ended = { finishedAt: at(-9), claimedAt: at(-10), attempt: 2 };
  expect(said({ ...ended, state: "done" })).toBe(
    `It has run: attempt 2 started ${at(-10)} and was done ${at(-9)}.`,
  );
  expect(said({ ...ended, state: "expired" })).toBe(
    `It did not run, because it expired ${at(-9)}: it became later than its own rule or its topic's rule allows.`,
  );
  expect(said({ ...ended, state: "expired", lastError: "40 s late" })).toMatch(/: "40 s late"\.$/);
  const by = { kind: "event" as const, name: "e-1" };
  expect(said({ ...ended, state: "cancelled", timeline: [{ at: at(-9), event: "cancelled", by }] })).toBe(
    `It will not run: it was cancelled ${at(-9)} by an event (e-1).`,
  );
  expect(said({ state: "handed-off" })).toContain("nobody knows whether the job has run");
});
