import { expect, test } from "vitest";
import { startReceiver } from "../support/receiver.ts";
import { type } from "./command-line.ts";

const DAY = 86_400_000;

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

test("shows the clock, and moves it by at most a day in each call", async () => {
  const { moves, receiver, env } = await serveClock();
  await using _ = receiver;
  expect((await type(undefined, ["clock"], { env })).out).toContain("1970-01-01T00:00:00.000Z, 0 s ahead");
  expect(moves).toEqual([]);
  const { code, lines } = await type(undefined, ["clock", "+2d1h", "--json"], { env });
  expect({ code, lines }).toEqual({
    code: 0,
    lines: [{ now: "1970-01-03T01:00:00.000Z", ahead: 2 * DAY + 3_600_000 }],
  });
  expect(moves).toEqual([{ by: DAY }, { by: DAY }, { by: 3_600_000 }]);
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

test("says that the clock only goes forward to a caller who moves it back", async () => {
  const said = async (move: string) => (await type(undefined, ["clock", move, "--json"])).err;
  expect(await said("-1h")).toContain("The clock only goes forward. It must be +,");
  expect(await said("1h")).not.toContain("forward");
});

test("refuses to move the clock of a deployed stack, and calls nothing", async () => {
  const env = { MINUTEHAND_URL: "https://abc.execute-api.eu-west-1.amazonaws.com" };
  const { code, err } = await type(undefined, ["clock", "+1h"], { env });
  expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining("clock needs a local stack") });
});
