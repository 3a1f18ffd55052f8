import { expect, test } from "vitest";
import {
  AUDIT_AFTER,
  BULK_GRACE,
  CALLER_AHEAD,
  CLOCK_MARGIN,
  EVENT_AHEAD,
  EXPIRY_GRACE,
  FAILING_TOPIC_WAIT,
  HOME_SURELY_KEPT,
  LANDS_WITHIN,
  LEASE_GRACE,
  LEAST_RETENTION,
  LOOKAHEAD,
  LOOKS_FILED_WITHIN,
  NEAR,
  NEAR_BY_ANY_CLOCK,
  SWEPT_AHEAD,
  TRAIL_KEPT_FOR,
  VISIBILITY_MARGIN,
  WRITER_DEADLINE,
} from "../../src/core/constants.ts";

const SIGNATURE_LIFE = 300_000;

/** Each sentence, and the two times of which the first must be at most the second. */
test.each([
  ["a lease is over for others once it is over for its own process", CLOCK_MARGIN, LEASE_GRACE],
  ["a message comes again once its lease is over for others", LEASE_GRACE, VISIBILITY_MARGIN],
  ["a job has expired for those who end it once no consumer runs it", CLOCK_MARGIN, EXPIRY_GRACE],
  ["an event of now is not ahead for a clock that lags", CLOCK_MARGIN, EVENT_AHEAD],
  ["an event after a filing is not earlier for a caller whose clock is ahead", CLOCK_MARGIN, CALLER_AHEAD],
  ["a bulk takes in each job that was filed before it began", CLOCK_MARGIN, BULK_GRACE],
  ["a sweep has passed no place beyond `SWEPT_AHEAD`", LOOKAHEAD + CLOCK_MARGIN, SWEPT_AHEAD],
  ["a writer sends each job that a sweep may have passed", SWEPT_AHEAD, NEAR],
  [
    "a start that any writer takes for near gets a look from the audit",
    NEAR + CLOCK_MARGIN,
    NEAR_BY_ANY_CLOCK,
  ],
  ["a trail has the entry that an audit needs", AUDIT_AFTER + CLOCK_MARGIN, TRAIL_KEPT_FOR],
  ["a look is stored before a sweep passes it", LOOKS_FILED_WITHIN + CLOCK_MARGIN, FAILING_TOPIC_WAIT],
  [
    "a home is stored for as long as its once item relies on it",
    HOME_SURELY_KEPT + CLOCK_MARGIN,
    LEAST_RETENTION,
  ],
  ["a write lands within its bound", WRITER_DEADLINE + SIGNATURE_LIFE + CLOCK_MARGIN, LANDS_WITHIN],
  ["a write lands before the audit passes its look", LANDS_WITHIN + LOOKAHEAD + 1, AUDIT_AFTER],
])("%s", (_, least, bound) => {
  expect(least).toBeLessThanOrEqual(bound);
});
