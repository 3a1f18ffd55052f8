import { describe, expect, it } from "vitest";
import { attemptsOf, backoffMs, DEFAULT_BACKOFF } from "../../core/backoff.ts";
import { CLOCK_MARGIN, NEAR, PACK_BYTES } from "../../core/constants.ts";
import { hasCrashed, isRunning, stateAt } from "../../core/home.ts";
import type { TrailEntry } from "../../core/items.ts";
import { bucketOf, type Home, homeKey, lookAt, sortable, timeOf } from "../../core/items.ts";
import { addressOf, drawJobId, drawToken, isJobId } from "../../core/job-id.ts";
import { lookAgainAt } from "../../core/look-again.ts";
import { deadText, jobText, messageText, parseMessage } from "../../core/message.ts";
import { delaySecondsOf, packsOf } from "../../core/packs.ts";
import { topicPolicy } from "../../core/policy.ts";
import { beforeTime } from "../../core/position.ts";
import { decodeReceipt, encodeReceipt } from "../../core/receipt.ts";
import { reachedBy, trailAfter } from "../../core/trail.ts";
import { batchesOf, inParallel } from "../../general/batches.ts";
import { parseDuration } from "../../general/durations.ts";
import { truncate } from "../../general/text.ts";

const TIME = Date.UTC(2026, 2, 1, 9, 30, 15, 250);
const counting = (count: number): Uint8Array => Uint8Array.from({ length: count }, (_, i) => i * 7 + 3);

function home(fields: Partial<Home> = {}): Home {
  const id = drawJobId(TIME, 8, counting);
  const base = {
    ...homeKey(id),
    v: 1,
    id,
    topic: "t",
    body: "{}",
    state: "scheduled",
    dueAt: TIME,
    wantedAt: TIME,
  };
  return { ...base, revision: 0, attempt: 0, createdAt: TIME, ...fields } as Home;
}

describe("ids", () => {
  it("an id is the address of its home", () => {
    for (let i = 0; i < 200; i++) {
      const random = (count: number): Uint8Array =>
        Uint8Array.from({ length: count }, (_, j) => i * 31 + j * 17);
      const id = drawJobId(TIME + i * 1_000_003, 1 + i, random);
      expect(isJobId(id)).toBe(true);
      expect(addressOf(id).time).toBe(TIME + i * 1_000_003);
      expect(addressOf(id).shard).toBeLessThan(1 + i);
    }
  });

  it("text that is no id is told", () => {
    const id = drawJobId(TIME, 8, counting);
    for (const text of [
      "",
      id.slice(1),
      `${id}0`,
      id.toLowerCase(),
      id.replace(/.$/, "U"),
      `8${id.slice(1)}`,
    ]) {
      expect(isJobId(text)).toBe(false);
    }
  });

  it("a token has 128 bits", () => {
    expect(Buffer.from(drawToken(counting), "base64url")).toHaveLength(16);
  });
});

describe("buckets", () => {
  it("a bucket is a minute of a shard", () => {
    expect(bucketOf(TIME, 4)).toBe("2026-03-01T09:30#4");
  });

  it("entries sort by time, a home before its look, a bare time before both", () => {
    const { sk, id } = home();
    const look = lookAt(id, TIME);
    expect([look.sk, sk, sortable(TIME)].sort()).toEqual([sortable(TIME), sk, look.sk]);
    expect(timeOf(look.sk)).toBe(TIME);
    expect(look.pk).toBe(home().pk);
  });
});

describe("durations", () => {
  it.each([
    [90, 90_000],
    [0, 0],
    [0.25, 250],
    ["90s", 90_000],
    ["30m", 1_800_000],
    ["1h30m", 5_400_000],
    ["7d", 604_800_000],
    ["250ms", 250],
  ])("%s is %i ms", (value, ms) => {
    expect(parseDuration(value)).toBe(ms);
  });

  it.each(["", "1", "m", "-1s", "1.5h", "1 h", "1w", "1h ", -1, Number.NaN, Number.POSITIVE_INFINITY, 1e300])(
    "%s is none",
    (value) => {
      expect(parseDuration(value)).toBeUndefined();
    },
  );
});

describe("backoff", () => {
  it("climbs the ladder and repeats its last wait", () => {
    const waits = [1, 2, 3, 9, 10, 50].map((attempt) => backoffMs(DEFAULT_BACKOFF, attempt, 0) / 1000);
    expect(waits).toEqual([15, 180, 600, 54_000, 54_000, 54_000]);
    expect(attemptsOf(DEFAULT_BACKOFF)).toBe(10);
  });

  it("grows by its factor to its cap, less the jitter drawn", () => {
    const backoff = { initial: 2, factor: 3, max: 60, jitter: 0.5 };
    expect([1, 2, 3, 4, 99].map((attempt) => backoffMs(backoff, attempt, 0))).toEqual([
      2000, 6000, 18_000, 54_000, 60_000,
    ]);
    expect(backoffMs(backoff, 99, 0.999)).toBeGreaterThanOrEqual(30_000);
  });
});

describe("looking again", () => {
  it("comes after the wait, hardly later, and at few times", () => {
    for (const wait of [60_000, 300_000, 3_600_000, 86_400_000]) {
      const times = Array.from({ length: 100 }, (_, i) => lookAgainAt("job-4k2x9z", TIME + i * 600, wait));
      for (const [i, time] of times.entries()) {
        expect(time - TIME - i * 600).toBeGreaterThanOrEqual(wait);
        expect(time - TIME - i * 600).toBeLessThanOrEqual(wait * 1.25 + 60_000);
      }
      expect(new Set(times).size).toBeLessThanOrEqual(2);
    }
  });

  it("is at other times for other jobs, or a sweep would stand at one instant", () => {
    const ids = Array.from(
      { length: 100 },
      (_, i) => `job-${(i * 21_000_000).toString(36).padStart(6, "0")}`,
    );
    const times = ids.map((id) => lookAgainAt(id, TIME, 86_400_000));
    expect(new Set(times).size).toBeGreaterThan(95);
  });
});

describe("leases", () => {
  it("count as live until the margin past their end", () => {
    const running = home({ state: "running", leaseEnd: TIME });
    expect(isRunning(running, TIME + CLOCK_MARGIN - 1)).toBe(true);
    expect(hasCrashed(running, TIME + CLOCK_MARGIN)).toBe(true);
    expect(stateAt(running, TIME + CLOCK_MARGIN)).toBe("scheduled");
  });

  it("an untracked job is handed off once it is near", () => {
    const stored = home({ untracked: true });
    expect(stateAt(stored, TIME - NEAR - 1)).toBe("scheduled");
    expect(stateAt(stored, TIME - NEAR)).toBe("handed-off");
  });
});

describe("messages", () => {
  it("carry the body as stored, and the number of the run", () => {
    const body = '{"a":[1,"\\ufffe"],"__proto__":{"x":1}}';
    const text = messageText("t", undefined, [
      jobText(home({ body, attempt: 2, revision: 3, headers: { traceparent: "00" } })),
    ]);
    expect(text).toContain(`"body":${body}`);
    const job = {
      revision: 3,
      attempt: 3,
      dueAt: "2026-03-01T09:30:15.250Z",
      headers: { traceparent: "00" },
    };
    expect(parseMessage(text)).toMatchObject({ v: 1, topic: "t", jobs: [job] });
  });

  it("say when they were sent", () => {
    const [pack] = packsOf("t", topicPolicy({}), [home()], TIME);
    const [job] = parseMessage(pack?.body ?? "")?.jobs ?? [];
    expect(Date.parse(job?.sentAt ?? "")).toBe(TIME);
  });

  it("a dead letter names the run that was the last", () => {
    expect(parseMessage(deadText(home({ attempt: 4 }), "why"))).toMatchObject({
      dead: true,
      error: "why",
      jobs: [{ attempt: 4 }],
    });
  });

  it("what is none of ours is told", () => {
    for (const text of [
      "",
      "1",
      "null",
      "{}",
      '{"v":2,"topic":"t","jobs":[]}',
      '{"v":1,"topic":"t","jobs":[{}]}',
    ]) {
      expect(parseMessage(text)).toBeUndefined();
    }
  });
});

describe("packs", () => {
  const policy = topicPolicy({ pack: 3 });

  it("hold jobs of one second and one group, up to the topic's number", () => {
    const homes = [0, 10, 20, 700, 749, 750, 1100].map((ms, i) =>
      home({ dueAt: TIME + ms, ...(i === 1 ? { group: "a" } : {}) }),
    );
    const packs = packsOf("t", policy, homes, TIME).map(({ homes: mates, group, start: dueAt }) => [
      mates.length,
      group,
      dueAt - TIME,
    ]);
    expect(packs).toEqual([
      [3, undefined, 0],
      [1, "a", 10],
      [1, undefined, 749],
      [2, undefined, 750],
    ]);
  });

  it("hold at most 60 KB, and a larger job alone", () => {
    const body = JSON.stringify("x".repeat(PACK_BYTES / 2));
    expect(packsOf("t", policy, [home({ body }), home({ body })], TIME)).toHaveLength(2);
    const large = JSON.stringify("x".repeat(PACK_BYTES * 2));
    expect(
      packsOf("t", policy, [home({ body: large }), home()], TIME).map(({ homes }) => homes.length),
    ).toEqual([1, 1]);
  });

  it("a delay is rounded up, never early and at most 900 s", () => {
    for (const [left, delay] of [
      [-5, 0],
      [0, 0],
      [1, 1],
      [1000, 1],
      [1001, 2],
      [2_000_000, 900],
    ] as const) {
      expect(delaySecondsOf(TIME + left, TIME, "second")).toBe(delay);
    }
  });

  it("millisecond topics' messages come 0.2 to 1.2 s before they are due", () => {
    for (let left = 1200; left < 5000; left += 7) {
      const early = left - delaySecondsOf(TIME + left, TIME, "millisecond") * 1000;
      expect(early).toBeGreaterThanOrEqual(200);
      expect(early).toBeLessThan(1200);
    }
  });
});

describe("receipts", () => {
  it("round trip, and garbage is none", () => {
    const receipt = { v: 1, id: home().id, revision: 2, attempt: 1, token: "t", handle: "h/+=" } as const;
    expect(decodeReceipt(encodeReceipt(receipt))).toEqual(receipt);
    for (const text of ["", "?", "e30", Buffer.from('{"v":1,"id":"x"}').toString("base64url")]) {
      expect(decodeReceipt(text)).toBeUndefined();
    }
  });
});

describe("batches", () => {
  it("are bounded by count and by size, in order", () => {
    const limits = { count: 3, bytes: 10 };
    expect(batchesOf([4, 4, 4, 1, 1, 1, 1, 20, 1], (size) => size, limits)).toEqual([
      [4, 4],
      [4, 1, 1],
      [1, 1],
      [20],
      [1],
    ]);
    expect(batchesOf([], () => 1, limits)).toEqual([]);
  });

  it("nobody answers while own calls are in flight", async () => {
    let finished = 0;
    const work = async (item: number): Promise<void> => {
      if (item === 0) throw new Error("first");
      await new Promise((resolve) => setImmediate(resolve));
      finished++;
    };
    await expect(inParallel([0, 1, 2, 3], 3, work)).rejects.toThrow("first");
    expect(finished).toBe(2);
  });
});

describe("a cursor's trail", () => {
  const at = (reachedAt: number): TrailEntry => ({
    position: beforeTime(reachedAt),
    reachedAt,
  });

  it("leaves out what comes too soon after the last entry", () => {
    expect(trailAfter([at(100)], at(119), 20)).toEqual([at(100)]);
    expect(trailAfter([at(100)], at(120), 20)).toEqual([at(100), at(120)]);
  });

  it("tells the last position reached by a time, and keeps what is needed later", () => {
    const trail = [at(100), at(200), at(300)];
    expect(reachedBy(trail, 99)).toEqual({ position: undefined, rest: trail });
    expect(reachedBy(trail, 250)).toEqual({ position: beforeTime(200), rest: [at(200), at(300)] });
  });
});

describe("text", () => {
  it("is cut at whole characters", () => {
    expect(truncate("äöü", 3)).toBe("ä");
    expect(truncate("abc", 3)).toBe("abc");
    expect(truncate("a\ud800", 9)).toBe("a\ufffd");
    expect(Buffer.byteLength(truncate("😀".repeat(100), 255))).toBe(252);
  });
});
