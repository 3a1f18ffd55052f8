import fc from "fast-check";
import { describe, expect } from "vitest";
import { BUCKET, DAY, MAX_SHARDS } from "../../src/core/constants.ts";
import {
  bucketOf,
  deadDay,
  deadKey,
  homeKey,
  keyItemKey,
  lookAt,
  minuteOf,
  onceKey,
  sortable,
  timeOf,
  ttl,
} from "../../src/core/item-keys.ts";
import { addressOf, drawJobId, drawToken, isJobId } from "../../src/core/job-id.ts";
import { byBytes } from "../../src/testing/stored-value.ts";
import { idAt, key, LAST, randomBytes, shards, time, topic } from "./kinds.ts";
import { property } from "./property.ts";

const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/** Text of the right letters and length. It is a job id if its time fits into 48 bits. */
const idLike = fc
  .array(fc.constantFrom(...ALPHABET), { minLength: 26, maxLength: 26 })
  .map((chars) => chars.join(""));
const nearby = fc.integer({ min: -150_000, max: 150_000 });

describe("job ids", () => {
  property(
    "contain the time and the shard that they were drawn for",
    [time, shards, randomBytes],
    (at, count, random) => {
      const id = drawJobId(at, count, random);
      const [high = 0, low = 0] = random(2);
      expect(isJobId(id)).toBe(true);
      expect(addressOf(id)).toEqual({ time: at, shard: ((high << 8) | low) % count });
    },
  );

  property(
    "have an address from which the same start of the id follows",
    [idLike, randomBytes],
    (text, random) => {
      const address = addressOf(text);
      expect(isJobId(text)).toBe(address.time < 2 ** 48);
      if (!isJobId(text)) return;
      expect(address.shard).toBeLessThan(MAX_SHARDS);
      const again = drawJobId(address.time, MAX_SHARDS, (count) =>
        Uint8Array.from([address.shard >> 8, address.shard & 255, ...random(count - 2)]),
      );
      expect(again.slice(0, 12)).toBe(text.slice(0, 12));
    },
  );

  property(
    "sort in the order of their times",
    [time, time, shards, randomBytes, randomBytes],
    (a, b, count, one, other) => {
      fc.pre(a !== b);
      expect(byBytes(drawJobId(a, count, one), drawJobId(b, count, other))).toBe(Math.sign(a - b));
    },
  );

  property(
    "differ if and only if five bits of a random byte differ",
    [time, randomBytes, fc.nat(13), fc.nat(255)],
    (at, random, i, byte) => {
      const drawn = random(16);
      const other = Uint8Array.from(drawn, (old, j) => (j === i + 2 ? byte : old));
      const same = ((drawn[i + 2] ?? 0) & 31) === (byte & 31);
      expect(drawJobId(at, 8, () => drawn) === drawJobId(at, 8, () => other)).toBe(same);
    },
  );

  property(
    "have no letters outside of their alphabet",
    [idAt(time), fc.nat(25), fc.oneof(fc.stringMatching(/^[0-9A-Za-z]{1}$/), fc.string({ maxLength: 2 }))],
    (id, i, text) => {
      const altered = id.slice(0, i) + text + id.slice(i + 1);
      const fits = text.length === 1 && (i === 0 ? "01234567" : ALPHABET).includes(text);
      expect(isJobId(altered)).toBe(fits);
    },
  );

  property("have a home key, however late their time", [idLike.filter(isJobId)], (id) => {
    expect(homeKey(id)).toEqual({
      pk: bucketOf(addressOf(id).time, addressOf(id).shard),
      sk: expect.stringMatching(new RegExp(`^\\d{13,}#${id}$`)),
    });
  });

  property("have fewer random bits than a token, which has 128", [randomBytes], (random) => {
    expect(Buffer.from(drawToken(random), "base64url")).toEqual(Buffer.from(random(16)));
  });
});

describe("buckets", () => {
  property(
    "contain one minute of one shard each",
    [time, nearby, fc.nat(1023), fc.nat(1023)],
    (at, ms, one, other) => {
      const later = Math.max(at + ms, 0);
      const shared = minuteOf(at) === minuteOf(later);
      expect(bucketOf(at, one) === bucketOf(later, one)).toBe(shared);
      expect(bucketOf(at, one) === bucketOf(at, other)).toBe(one === other);
      expect(bucketOf(at, one).split("#")).toEqual([new Date(at).toISOString().slice(0, 16), `${one}`]);
    },
  );

  property("begin at a whole minute, less than a minute before the times of their entries", [time], (at) => {
    const minute = minuteOf(at);
    expect(minute % BUCKET).toBe(0);
    expect(at - minute).toBeGreaterThanOrEqual(0);
    expect(at - minute).toBeLessThan(BUCKET);
    expect(new Date(minute).toISOString().slice(0, 16)).toBe(bucketOf(at, 0).slice(0, 16));
  });

  property("hold a job's home and its looks at that time", [idAt(time)], (id) => {
    const home = homeKey(id);
    const look = lookAt(id, addressOf(id).time);
    expect(look.pk).toBe(home.pk);
    expect([look.sk, home.sk, sortable(addressOf(id).time)].sort(byBytes)).toEqual([
      sortable(addressOf(id).time),
      home.sk,
      look.sk,
    ]);
  });

  property("sort all kinds of entries by time", [idAt(time), idAt(time), time, time], (one, other, a, b) => {
    const [before, after] = [Math.min(a, b), Math.max(a, b)];
    fc.pre(before < after);
    expect(byBytes(lookAt(one, before).sk, lookAt(other, after).sk)).toBe(-1);
    expect(byBytes(lookAt(one, before).sk, sortable(after))).toBe(-1);
  });

  property("have entries whose keys contain their times", [idAt(time), time], (id, at) => {
    expect(timeOf(sortable(at))).toBe(at);
    expect(timeOf(lookAt(id, at).sk)).toBe(at);
    expect(timeOf(homeKey(id).sk)).toBe(addressOf(id).time);
  });
});

describe("keys", () => {
  const token = fc.stringMatching(/^[ -~]{1,40}$/);

  property(
    "contain their kind, their topic and the caller's key or token",
    [topic, key, token],
    (name, text, once) => {
      expect(keyItemKey(name, text)).toEqual({ pk: `key#${name}#${text}`, sk: "key" });
      expect(onceKey(name, once)).toEqual({ pk: `once#${name}#${once}`, sk: "once" });
    },
  );

  // A token may contain a #, but a topic may not.
  const word = fc.stringMatching(/^[ab]{1,2}[ab#]{1,3}$/);
  const end = fc.integer({ min: 1, max: 2 });
  property(
    "differ if the same text is divided otherwise into topic and name",
    [word, end, end],
    (text, one, other) => {
      fc.pre(one !== other && !text.slice(0, 2).includes("#"));
      for (const keyOf of [keyItemKey, onceKey])
        expect(keyOf(text.slice(0, one), text.slice(one)).pk).not.toBe(
          keyOf(text.slice(0, other), text.slice(other)).pk,
        );
      expect(onceKey(text.slice(0, 1), text).pk).not.toBe(onceKey(text.slice(0, 1), text.slice(1)).pk);
    },
  );

  property(
    "of dead jobs lie in their own day and sort by time",
    [topic, idAt(time), time, fc.integer({ min: -3 * DAY, max: 3 * DAY })],
    (name, id, a, ms) => {
      const b = Math.min(Math.max(a + ms, 0), LAST);
      const [before, after] = [deadKey(name, Math.min(a, b), id), deadKey(name, Math.max(a, b), id)];
      expect(before.pk).toBe(deadDay(name, Math.min(a, b)));
      expect(before.pk === after.pk).toBe(Math.floor(a / DAY) === Math.floor(b / DAY));
      expect(byBytes(before.sk, after.sk)).toBe(a === b ? 0 : -1);
    },
  );

  property("expire in whole seconds, never early and within a second", [time], (at) => {
    expect(ttl(at) % 1).toBe(0);
    expect(ttl(at) * 1000 - at).toBeGreaterThanOrEqual(0);
    expect(ttl(at) * 1000 - at).toBeLessThan(1000);
  });
});
