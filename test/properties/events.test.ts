import fc from "fast-check";
import { describe, expect } from "vitest";
import { MinutehandError } from "../../src/core/errors.ts";
import { KEY_PATTERN } from "../../src/core/job-key.ts";
import { isEventPath, keyIn, parseEvent, valueAt } from "../../src/settings/event-rules.ts";
import { anyText, json, key, NOW } from "./kinds.ts";
import { property } from "./property.ts";

const name = fc.oneof(fc.stringMatching(/^[A-Za-z0-9_-]{1,8}$/), fc.constantFrom("__proto__", "constructor"));
const names = fc.array(name, { minLength: 1, maxLength: 5 });
const eventWith = (detail: unknown) =>
  parseEvent(
    JSON.stringify({ id: "e", source: "s", "detail-type": "t", time: new Date(NOW).toISOString(), detail }),
  );
const nested = (path: readonly string[], value: unknown): unknown =>
  path.reduceRight((inner, at) => Object.fromEntries([[at, inner]]), value);
const rule = (path: string) =>
  ({ topic: "t", detailType: "t", do: "cancel", key: path, tombstone: 0 }) as const;

describe("an event", () => {
  property("gives the value at a path, whatever the value is", [names, json], (path, value) => {
    const at = `$.detail.${path.join(".")}`;
    expect(isEventPath(at)).toBe(true);
    expect(valueAt(eventWith(nested(path, value)), at)).toEqual(value);
  });

  property(
    "has a value at a longer path only if its own members form that path",
    [names, names, json],
    (path, other, detail) => {
      const at = valueAt(eventWith(nested(path, detail)), `$.detail.${[...path, ...other].join(".")}`);
      const there = other.reduce<unknown>(
        (value, step) =>
          Object(value) === value && Object.hasOwn(Object(value), step) ? Object(value)[step] : undefined,
        detail,
      );
      expect(at).toEqual(there);
    },
  );

  property("names any key that a job can have, and refuses all else", [fc.oneof(key, json)], (value) => {
    const event = eventWith({ value });
    const isKey = typeof value === "string" ? KEY_PATTERN.test(value) : Number.isSafeInteger(value);
    if (isKey) expect(keyIn(event, rule("$.detail.value"))).toBe(String(value));
    else expect(() => keyIn(event, rule("$.detail.value"))).toThrow(MinutehandError);
  });

  property(
    "of any text is read or refused",
    [
      fc.oneof(
        anyText,
        json.map((value) => JSON.stringify(value)),
      ),
    ],
    (text) => {
      expect(() => parseEvent(text)).toThrow(MinutehandError);
    },
  );
});
