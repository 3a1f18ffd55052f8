import fc from "fast-check";
import { describe, expect } from "vitest";
import { deadKey, sortable, timeOf } from "../../src/core/item-keys.ts";
import { afterJob, beforeTime } from "../../src/core/position.ts";
import {
  decodeBulkCursor,
  decodeDeadCursor,
  decodeListCursor,
  encodeBulkCursor,
  encodeDeadCursor,
  encodeListCursor,
} from "../../src/http/cursors.ts";
import { LAST_BOUND } from "../../src/http/instants.ts";
import { anyText, idAt, LAST, NOW } from "./kinds.ts";
import { property } from "./property.ts";

describe("a list's cursor", () => {
  const time = fc.integer({ min: 0, max: LAST_BOUND });
  const entry = fc
    .tuple(time, fc.option(idAt(time), { nil: undefined }))
    .map(([at, id]) => (id ? afterJob(`${sortable(at)}#${id}`) : beforeTime(at)));

  property("comes back as it was given", [entry, time, time], (at, one, to) => {
    const from = Math.min(one, timeOf(at));
    expect(decodeListCursor(encodeListCursor({ place: at, from, to }))).toEqual({ place: at, from, to });
  });

  property("of dead jobs comes back as it was given", [time, idAt(time)], (at, id) => {
    const place = afterJob(deadKey("t", at, id).sk);
    expect(decodeDeadCursor(encodeDeadCursor(place))).toBe(place);
  });

  const bulk = fc
    .record({
      id: fc.stringMatching(/^[A-Za-z0-9_-]{8}$/),
      startedAt: time,
      from: time,
      to: time,
      nextAt: time,
      position: fc.oneof(
        entry,
        fc.tuple(time, idAt(time)).map(([at, id]) => afterJob(deadKey("t", at, id).sk)),
      ),
    })
    .map((at) => ({ ...at, from: Math.min(at.from, timeOf(at.position)) }));
  property("of a bulk comes back as it was given", [bulk], (at) => {
    expect(decodeBulkCursor(encodeBulkCursor(at))).toEqual(at);
  });

  const beyond = fc.integer({ min: LAST_BOUND + 1, max: LAST });
  property("past the last minute that the pool sorts is a bad request", [bulk, beyond], (at, late) => {
    const place = beforeTime(late);
    const made = [
      () => decodeListCursor(encodeListCursor({ place, from: 0, to: NOW })),
      () => decodeListCursor(encodeListCursor({ place: beforeTime(NOW), from: 0, to: late })),
      () => decodeBulkCursor(encodeBulkCursor({ ...at, position: place })),
      () => decodeBulkCursor(encodeBulkCursor({ ...at, to: late })),
    ];
    for (const decode of made) expect(decode).toThrow("cursor must be the cursor of an earlier answer");
  });

  const written = fc.oneof(anyText, fc.stringMatching(/^\d{1,14} \d{1,14} \d{13}(?:#[0-9A-Z]{26}(?:#~)?)?$/));
  const given = fc.oneof(
    entry.map((place) => encodeListCursor({ place, from: 0, to: NOW })),
    fc.tuple(time, idAt(time)).map(([at, id]) => encodeDeadCursor(afterJob(deadKey("t", at, id).sk))),
    bulk.map(encodeBulkCursor),
  );
  const encoded = written.map((text) => Buffer.from(text).toString("base64url"));
  const altered = fc
    .tuple(fc.oneof(given, encoded), fc.constantFrom("", "=", " ", "!", "A"))
    .map(([text, end]) => text + end);
  property(
    "is accepted only as a page answered it, or is a bad request",
    [fc.oneof(anyText, encoded, altered)],
    (text) => {
      const read = [
        [decodeListCursor, encodeListCursor],
        [decodeDeadCursor, encodeDeadCursor],
        [decodeBulkCursor, encodeBulkCursor],
      ] as const;
      for (const [decode, encode] of read) {
        try {
          expect((encode as (read: unknown) => string)(decode(text))).toBe(text);
        } catch (error) {
          expect(error).toMatchObject({ name: "MinutehandError", code: "bad-request" });
        }
      }
    },
  );
});
