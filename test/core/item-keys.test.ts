import { describe, expect, it } from "vitest";
import { bucketOf, lookAt, sortable, timeOf } from "../../src/core/item-keys.ts";
import { TIME, waitingHome } from "./waiting-home.ts";

describe("buckets", () => {
  it("a bucket is a minute of a shard", () => {
    expect(bucketOf(TIME, 4)).toBe("2026-03-01T09:30#4");
  });

  it("entries sort by time, a home before its look, a bare time before both", () => {
    const { sk, id } = waitingHome();
    const look = lookAt(id, TIME);
    expect([look.sk, sk, sortable(TIME)].sort()).toEqual([sortable(TIME), sk, look.sk]);
    expect(timeOf(look.sk)).toBe(TIME);
    expect(look.pk).toBe(waitingHome().pk);
  });
});
