import { expect, test } from "vitest";
import { openRunnerLog } from "../../local/runner-log.ts";

/** 09:00:05.004 by the machine's clock, and an hour later by the stack's. */
const MOVED = { now: () => new Date(2026, 2, 1, 10, 0, 5, 4).getTime(), ahead: () => 3_600_000 };

test("a line of the runner begins with the time of the stack's clock, on the terminal and in the console", () => {
  const [written, shown]: string[][] = [[], []];
  const log = openRunnerLog(
    (line) => written?.push(line),
    ({ text }) => shown?.push(text),
    () => {},
    { ...MOVED, ahead: () => 0 },
  );
  log.say("reloaded mail in 0.3 s");
  log.flush();
  expect([written, shown]).toEqual(Array(2).fill(["10:00:05.004  reloaded mail in 0.3 s"]));
});

test("a line says how far the clock was moved, and then the time to which it was moved", () => {
  const written: string[] = [];
  const log = openRunnerLog(
    (line) => written.push(line),
    () => {},
    () => {},
    MOVED,
  );
  log.say("reloaded mail in 0.3 s");
  log.flush();
  expect(written).toEqual(["[+1h] 10:00:05.004  reloaded mail in 0.3 s"]);
});
