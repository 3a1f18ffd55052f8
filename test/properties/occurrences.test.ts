import fc from "fast-check";
import { describe, expect } from "vitest";
import { DAY } from "../../src/core/constants.ts";
import { toJson } from "../../src/core/json.ts";
import { occurrenceInput, parseOccurrence, type Schedule, storedInput } from "../../src/core/occurrence.ts";
import { anyText, json, time } from "./kinds.ts";
import { property } from "./property.ts";

const words = fc.constantFrom(
  "<aws.scheduler.scheduled-time>",
  "<aws.scheduler.execution-id>",
  "<",
  "\\u003c",
  "\ufffe",
);
const text = fc
  .array(fc.oneof(words, anyText), { maxLength: 3 })
  .map((parts) => parts.join("").toWellFormed());
const body = fc.oneof(json, text, fc.dictionary(text, text)).map(toJson);
const job = fc.record(
  {
    topic: fc.constant("t"),
    body,
    spread: fc.integer({ min: 0, max: DAY }),
    tag: text,
    headers: fc.dictionary(fc.stringMatching(/^[a-z]+$/), text),
  },
  { requiredKeys: ["topic", "body"] },
);

const scheduleOf = (template: Schedule["job"]): Schedule => ({
  name: "a",
  expression: "rate(1 day)",
  timezone: "UTC",
  start: 1,
  anchor: 1,
  paused: false,
  createdAt: 2,
  job: template,
});

function replaced(input: string, at: number): string {
  return input
    .replaceAll("<aws.scheduler.scheduled-time>", new Date(at).toISOString())
    .replaceAll("<aws.scheduler.execution-id>", "replaced");
}

describe("a schedule's input", () => {
  property("comes back with the time and the job, whatever the job contains", [job, time], (template, at) => {
    const event: unknown = JSON.parse(replaced(occurrenceInput(scheduleOf(template)), at));
    expect(parseOccurrence(event)).toEqual({ name: "a", time: at, job: template });
  });

  property("keeps the values of its schedule", [job], (template) => {
    const { start, anchor, createdAt } = scheduleOf(template);
    expect(storedInput(occurrenceInput(scheduleOf(template)))).toEqual({
      start,
      anchor,
      createdAt,
      job: template,
    });
  });

  property("contains Scheduler's placeholder once", [job], (template) => {
    expect(occurrenceInput(scheduleOf(template)).match(/</g)).toHaveLength(1);
  });

  property("is not recognised in any other text", [anyText], (other) => {
    expect(storedInput(other)).toBeUndefined();
    expect(storedInput(JSON.stringify({ v: 2, other }))).toBeUndefined();
  });
});
