import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import { startReceiver } from "../support/receiver.ts";
import { writeRunnerRecord } from "../support/runner-record.ts";
import { type } from "./command-line.ts";
import { SERVICES, serveApi } from "./served-api.ts";

const DAY = 86_400_000;
const HOUR = 3_600_000;

/** Plays the route of a local stack: each POST moves its clock, or is refused with `failure`. */
async function serveClock(failure?: { status: number; message: string }) {
  let ahead = 0;
  const moves: unknown[] = [];
  const receiver = await startReceiver(async (_, response) => {
    const { method = "", body = "" } = receiver.received.at(-1) ?? {};
    const move = method === "POST" ? JSON.parse(body) : undefined;
    if (move !== undefined) moves.push(move);
    const { status, message } = (move && failure) ?? { status: 200, message: undefined };
    ahead += move?.by ?? 0;
    const time = { now: new Date(ahead).toISOString(), ahead };
    response.writeHead(status).end(JSON.stringify(message === undefined ? time : { message }));
  });
  const env = { MINUTEHAND_URL: `http://127.0.0.1:${receiver.port}` };
  return { moves, receiver, env };
}

test("shows the clock, and moves it", async () => {
  const { moves, receiver, env } = await serveClock();
  await using _ = receiver;
  expect((await type(undefined, ["clock"], { env })).out).toContain(
    "1970-01-01T00:00:00.000Z, the same time as this machine",
  );
  expect(moves).toEqual([]);
  const { code, lines } = await type(undefined, ["clock", "+2d1h", "--json"], { env });
  expect({ code, lines }).toEqual({
    code: 0,
    lines: [{ now: "1970-01-03T01:00:00.000Z", ahead: 2 * DAY + HOUR }],
  });
  expect(moves).toEqual([{ by: 2 * DAY + HOUR }]);
});

/** A clock whose move ends with `finish`; until then it stands at noon, after three runs. */
async function serveSlowClock() {
  const { promise, resolve: finish } = Promise.withResolvers<void>();
  let runs = 1;
  const receiver = await startReceiver(async (_, response) => {
    if (receiver.received.at(-1)?.method === "POST") {
      runs = 4;
      await promise;
    }
    response.end(JSON.stringify({ now: "2026-03-01T12:00:00.000Z", ahead: HOUR, runs }));
  });
  return { finish, receiver, env: { MINUTEHAND_URL: `http://127.0.0.1:${receiver.port}` } };
}

test("says while it moves the clock which time the clock is at, and how many jobs have run", async () => {
  const { finish, receiver, env } = await serveSlowClock();
  await using _ = receiver;
  let waits = 0;
  const wait = async () => {
    await setTimeout(20);
    if (++waits > 3) finish();
  };
  const { code, err } = await type(undefined, ["clock", "+1h"], { env, wait, clock: () => waits * 20_000 });
  expect(code).toBe(0);
  expect(err).toContain("the clock is at 2026-03-01T12:00:00.000Z: 3 runs of jobs so far\n");
});

test("at Ctrl-C ends the move, and says where the clock stands", async () => {
  const { receiver, env } = await serveSlowClock();
  await using _ = receiver;
  const { code, err } = await type(undefined, ["clock", "+1h"], {
    env,
    wait: (_, interrupt) => {
      interrupt();
      return new Promise<void>(() => {});
    },
  });
  expect({ code, err }).toEqual({
    code: 130,
    err: expect.stringContaining("the clock stopped at 2026-03-01T12:00:00.000Z\n"),
  });
});

test("waits for a move that takes longer than fetch waits for an answer", async () => {
  const { finish, receiver, env } = await serveSlowClock();
  await using _ = receiver;
  const { fetch } = globalThis;
  // The real limit is five minutes.
  using __ = vi
    .spyOn(globalThis, "fetch")
    .mockImplementation((url, init) => fetch(url, { ...init, signal: AbortSignal.timeout(200) }));
  const began = performance.now();
  const wait = async () => {
    await setTimeout(20);
    if (performance.now() - began > 500) finish();
  };
  const { code, out } = await type(undefined, ["clock", "+1h"], { env, wait });
  expect({ code, out }).toEqual({ code: 0, out: expect.stringContaining("is at 2026-03-01T12:00:00.000Z") });
});

test.each([
  ["the stack says why", 500, "a tick failed"],
  ["the stack has ended", undefined, "socket hang up"],
])("says after a failed move how far the clock has come: %s", async (_, status, why) => {
  let now = "2026-03-01T12:00:00.000Z";
  const receiver = await startReceiver(async (_, response) => {
    const isMove = receiver.received.at(-1)?.method === "POST";
    if (!isMove) response.end(JSON.stringify({ now, ahead: HOUR }));
    else if (status === undefined) response.destroy();
    else response.writeHead(status).end(JSON.stringify({ message: "a tick failed" }));
    if (isMove) now = "2026-03-01T12:21:00.000Z";
  });
  await using __ = receiver;
  const env = { MINUTEHAND_URL: `http://127.0.0.1:${receiver.port}` };
  const { code, err } = await type(undefined, ["clock", "+1h"], { env });
  const said = `the clock was only moved to 2026-03-01T12:21:00.000Z: ${why}\n`;
  expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining(said) });
});

test("says in days, hours, minutes and seconds how far the clock is ahead", async () => {
  const { receiver, env } = await serveClock();
  await using _ = receiver;
  expect((await type(undefined, ["clock", "+59m34s"], { env })).out).toContain(
    "1970-01-01T00:59:34.000Z, 59m 34s ahead of this machine's",
  );
});

test("says why the clock was not moved", async () => {
  const { moves, receiver, env } = await serveClock({ status: 404, message: "no job waits" });
  await using _ = receiver;
  const { code, err } = await type(undefined, ["clock", "next-job"], { env });
  expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining("was not moved: no job waits") });
  expect(moves).toEqual([{ to: "next-job" }]);
});

test.each([["1h"], ["-1h"], ["+0s"], ["+soon"], ["tomorrow"], ["--soon"]])(
  "refuses the move %s",
  async (move) => {
    const { code, err } = await type(undefined, ["clock", move]);
    expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining("It must be +, a duration") });
  },
);

test("refuses a move of more than 366 days, because the clock never goes back", async () => {
  const said = async (move: string) => (await type(undefined, ["clock", move])).err;
  expect(await said("+367d")).toContain("It must be at most 366d: the clock never goes back.\n");
  expect(await said("+366d")).not.toContain("at most");
});

test("says that the clock only goes forward to a caller who moves it back", async () => {
  const said = async (move: string) => (await type(undefined, ["clock", move, "--json"])).err;
  expect(await said("-1h")).toContain(
    "minutehand: the value '-1h' of the argument 'move' is invalid. The clock only goes forward. It must be +,",
  );
  expect(await said("1h")).not.toContain("forward");
});

test("refuses to move the clock of a deployed stack, and calls nothing", async () => {
  const env = { MINUTEHAND_URL: "https://abc.execute-api.eu-west-1.amazonaws.com" };
  const { code, err } = await type(undefined, ["clock", "+1h"], { env });
  expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining("clock needs a local stack") });
});

/** A local stack whose clock was moved by an hour, its folder, and the clock of the machine. */
async function serveMoved() {
  const api = await serveApi(undefined, {}, HOUR);
  const folder = mkdtempSync(join(tmpdir(), "minutehand-clock-"));
  writeRunnerRecord(folder, { url: api.url, services: `${api.url}${SERVICES}` });
  const typed = { env: {}, folder, clock: () => api.world.now() - HOUR };
  const stop = async () => {
    await api[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true });
  };
  return { api, typed, [Symbol.asyncDispose]: stop };
}

test("list names the range of the stack's clock, from which the API lists", async () => {
  await using moved = await serveMoved();
  const { api, typed } = moved;
  const { err } = await type(api, ["list"], typed);
  expect(err).toContain("due from 2026-03-01T09:00:00.000Z to 2026-03-01T10:00:00.000Z");
});

test("forecast counts from the stack's clock", async () => {
  await using moved = await serveMoved();
  const { api, typed } = moved;
  await api.file({ delay: "30m" });
  expect((await type(api, ["forecast", "--json"], typed)).lines).toMatchObject([{ count: 1 }]);
});

test("tail follows the jobs that are due around the stack's clock", async () => {
  await using moved = await serveMoved();
  const { api, typed } = moved;
  const { id } = await api.file({ delay: "1m" });
  const { out } = await type(api, ["tail"], {
    ...typed,
    wait(_, interrupt) {
      interrupt();
      // The process would have ended here, so this wait does not end.
      return new Promise<void>(() => {});
    },
  });
  expect(out).toContain(`2026-03-01T09:00:00.000Z  scheduled   orders  ${id}`);
});

test("doctor says how far the stack's clock was moved", async () => {
  await using moved = await serveMoved();
  const { api, typed } = moved;
  const { out } = await type(api, ["doctor"], typed);
  expect(out).toContain(
    "ok       clock: the local stack's clock is at +1h of this machine's: see minutehand clock\n",
  );
});

test("list refuses a range that ends before the stack's clock", async () => {
  await using moved = await serveMoved();
  const { api, typed } = moved;
  const { code } = await type(api, ["list", "--to", "2026-03-01T08:30:00Z"], typed);
  expect(code).toBe(2);
});
