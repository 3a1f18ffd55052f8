import fc from "fast-check";
import { describe, expect } from "vitest";
import type { Home } from "../../src/core/home.ts";
import { isJobId } from "../../src/core/job-id.ts";
import { toJson } from "../../src/core/json.ts";
import { deadText, jobText, messageText, newestRevisions, parseMessage } from "../../src/core/message.ts";
import { decodeReceipt, encodeReceipt, type Receipt } from "../../src/core/receipt.ts";
import { anyText, homeDueAt, idAt, json, SQS_TEXT, time, topic } from "./kinds.ts";
import { property } from "./property.ts";

const home = homeDueAt(time);
const group = fc.option(fc.stringMatching(/^[!-~]{1,128}$/), { nil: undefined });

function jobOf(stored: Home, attempt: number): object {
  const { id, revision, dueAt, headers, expiresAfter, wantedAt, maxAttempts, key, body } = stored;
  return {
    id,
    revision,
    attempt,
    dueAt: new Date(dueAt).toISOString(),
    ...(headers && { headers }),
    ...(expiresAfter && { expiresAt: new Date(wantedAt + expiresAfter).toISOString() }),
    ...(maxAttempts && { maxAttempts }),
    ...(key && { key }),
    body: JSON.parse(body),
  };
}

describe("a message", () => {
  property(
    "has for each job the values of its home",
    [topic, group, fc.array(home, { maxLength: 4 })],
    (name, mates, homes) => {
      const text = messageText(
        name,
        mates,
        homes.map((stored) => jobText(stored)),
      );
      const jobs = homes.map((stored) => jobOf(stored, stored.attempt + 1));
      expect(parseMessage(text)).toEqual({ v: 1, topic: name, ...(mates && { group: mates }), jobs });
      expect(text).toMatch(SQS_TEXT);
    },
  );

  property("contains bodies unchanged", [home], (stored) => {
    expect(jobText(stored).endsWith(`,"body":${stored.body}}`)).toBe(true);
  });

  property("of a dead job names its last run and any error", [home, anyText], (stored, error) => {
    const text = deadText(stored, error);
    const jobs = [jobOf(stored, stored.attempt)];
    expect(parseMessage(text)).toEqual({ v: 1, topic: stored.topic, dead: true, error, jobs });
    expect(text).toMatch(SQS_TEXT);
  });

  const member = fc.constantFrom("v", "topic", "jobs");
  property(
    "is not accepted if a member that every consumer needs is missing or changed",
    [home, member, json],
    (stored, name, value) => {
      const message = JSON.parse(messageText("t", undefined, [jobText(stored)]));
      fc.pre(JSON.stringify(value) !== JSON.stringify(message[name]));
      fc.pre(name !== "topic" || typeof value !== "string");
      fc.pre(name !== "jobs" || !(Array.isArray(value) && value.length === 0));
      expect(parseMessage(JSON.stringify({ ...message, [name]: value }))).toBeUndefined();
      expect(parseMessage(JSON.stringify({ ...message, [name]: undefined }))).toBeUndefined();
    },
  );

  const part = fc.constantFrom("id", "revision", "attempt", "dueAt");
  const wrong = json.filter(
    (value) => !Number.isInteger(value) && !(typeof value === "string" && isWhole(value)),
  );
  property(
    "is not accepted with a job that no consumer could claim",
    [home, part, wrong],
    (stored, name, value) => {
      const job = JSON.parse(jobText(stored));
      const message = (altered: unknown): string =>
        JSON.stringify({ v: 1, topic: "t", jobs: [job, altered] });
      expect(parseMessage(message(job))).toBeDefined();
      expect(parseMessage(message({ ...job, [name]: value }))).toBeUndefined();
      expect(parseMessage(message({ ...job, [name]: undefined }))).toBeUndefined();
      expect(parseMessage(message(value))).toBeUndefined();
    },
  );

  property(
    "is read without an exception, whatever its text",
    [fc.oneof(anyText, json.map(toJson))],
    (text) => {
      const message = parseMessage(text);
      expect(message === undefined || Array.isArray(message.jobs)).toBe(true);
    },
  );
});

function isWhole(text: string): boolean {
  return isJobId(text) || Number.isFinite(Date.parse(text));
}

describe("of many messages", () => {
  const ids = ["a", "b", "c"];
  const carried = fc
    .array(fc.record({ id: fc.constantFrom(...ids), revision: fc.nat(3) }))
    .map((jobs) => jobs.map((job) => ({ job: { ...job, attempt: 1, dueAt: "", body: null } })));

  property("each job counts once, with the first message of its newest revision", [carried], (messages) => {
    const newest = newestRevisions(messages);
    const expected = ids.flatMap((id) => {
      const own = messages.filter(({ job }) => job.id === id);
      const last = Math.max(...own.map(({ job }) => job.revision));
      return own.find(({ job }) => job.revision === last) ?? [];
    });
    // Messages of one revision have equal values, so their places are compared.
    const placesOf = (these: typeof messages): number[] => these.map((one) => messages.indexOf(one)).sort();
    expect(placesOf(newest)).toEqual(placesOf(expected));
    const firsts = [...new Set(messages.map(({ job }) => job.id))];
    expect(newest.map(({ job }) => job.id)).toEqual(firsts);
  });
});

describe("a receipt", () => {
  const receipt: fc.Arbitrary<Receipt> = fc
    .record({
      id: idAt(time),
      revision: fc.nat(),
      attempt: fc.integer({ min: 1, max: 100 }),
      handle: fc.stringMatching(/^[!-~]{1,1024}$/),
      token: fc.option(fc.stringMatching(/^[\w-]{22}$/), { nil: undefined }),
    })
    .map(({ token, ...rest }) => ({ v: 1, ...rest, ...(token === undefined ? {} : { token }) }));

  property("comes back as it was given, and is text that the API accepts", [receipt], (given) => {
    expect(encodeReceipt(given)).toMatch(/^[\w-]+$/);
    expect(decodeReceipt(encodeReceipt(given))).toEqual(given);
  });

  const member = fc.constantFrom("v", "id", "revision", "attempt", "handle", "token");
  const strange = fc
    .oneof(json, anyText)
    .filter((value) => !Number.isInteger(value) && !(typeof value === "string" && /^[!-~]+$/.test(value)));
  property("is not accepted if it was changed", [receipt, member, strange], (given, name, value) => {
    const made = Buffer.from(JSON.stringify({ ...given, [name]: value })).toString("base64url");
    expect(decodeReceipt(made)).toBeUndefined();
  });

  const made = fc.oneof(
    anyText,
    fc.oneof(anyText, json.map(toJson)).map((text) => Buffer.from(text).toString("base64url")),
  );
  property("is not accepted if it is garbage, and causes no exception", [made], (text) => {
    expect(decodeReceipt(text)).toBeUndefined();
  });
});
