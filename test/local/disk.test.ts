import { tmpdir } from "node:os";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { diskShortage, logDiskShortage } from "../../local/disk.ts";
import { openHttpApi } from "../../local/functions/http-api.ts";
import { parseRoute } from "../../local/functions/routes.ts";

const blocks = (bavail: number) => () => ({ blocks: 1_000_000, bavail, bsize: 4096 });

test("a disk with less than 8 MiB free is full, and the reason names its free space", () => {
  expect(diskShortage("/data", blocks(2047))).toBe(
    "the disk of the data folder /data is full: 7.9 MiB are free, at least 8 MiB are needed",
  );
  expect(diskShortage("/data", blocks(2048))).toBeUndefined();
  expect(diskShortage(tmpdir())).toBeUndefined();
});

test("a file system that does not count its blocks has room", () => {
  expect(diskShortage("/data", () => ({ blocks: 0, bavail: 0, bsize: 4096 }))).toBeUndefined();
});

describe("the log", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test("says once that the disk is full, once that it has room again, and nothing after the end", () => {
    const lines: string[] = [];
    let reason: string | undefined;
    const end = logDiskShortage(
      () => reason,
      (line) => lines.push(line),
    );
    vi.advanceTimersByTime(20_000);
    expect(lines).toEqual([]);
    reason = "the disk is full";
    vi.advanceTimersByTime(20_000);
    expect(lines).toEqual(["the disk is full; jobs wait until there is room"]);
    reason = undefined;
    vi.advanceTimersByTime(20_000);
    expect(lines.slice(1)).toEqual(["the disk of the data folder has room again"]);
    end();
    reason = "the disk is full";
    vi.advanceTimersByTime(20_000);
    expect(lines).toHaveLength(2);
  });
});

test("while the disk is full the API refuses requests that write, and answers GET", async () => {
  let reason: string | undefined = "the disk is full";
  const api = await openHttpApi(0, { shortage: () => reason });
  const target = {
    timeoutMs: 1_000,
    invoke: async () => ({ outcome: "returned", payload: '{"statusCode":201}' }) as const,
  };
  api.serve([parseRoute("ANY /jobs", target)], "000000000000");
  const call = async (method: string) => {
    const answer = await fetch(`${api.url}/jobs`, { method });
    return [answer.status, await answer.text()];
  };
  try {
    expect(await call("POST")).toEqual([507, '{"message":"the disk is full"}']);
    expect(await call("GET")).toEqual([201, ""]);
    reason = undefined;
    expect(await call("POST")).toEqual([201, ""]);
  } finally {
    await api.stop(0);
  }
});
