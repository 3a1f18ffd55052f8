import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const ROOT = new URL("../../../", import.meta.url);
const HOUR = 3_600_000;

/** Runs code in a process of its own, whose clock is moved on by an hour, and answers what the code prints as JSON. */
function underMovedClock(code: string): unknown {
  const moved = `
    import { setAhead, shiftDate } from "./local/processes/shifted-date.ts";
    const before = Date.now();
    shiftDate();
    setAhead(${HOUR});
    const { clock, machineClock } = await import("./src/environment/process.ts");
    console.log(JSON.stringify(await (${code})(before, clock, machineClock)));`;
  const output = execFileSync(process.execPath, ["--input-type=module", "--eval", moved], {
    cwd: fileURLToPath(ROOT),
  });
  return JSON.parse(output.toString());
}

test("all ways to read the time follow a moved clock, and dates stay dates", () => {
  const read = underMovedClock(`(before) => {
    const times = [Date.now(), new Date().getTime(), Date.parse(Date()), performance.timeOrigin + performance.now()];
    const fixed = new Date(0);
    return { hours: times.map((time) => Math.round((time - before) / ${HOUR})), fixed, isDate: fixed instanceof Date };
  }`);
  expect(read).toEqual({ hours: [1, 1, 1, 1], fixed: "1970-01-01T00:00:00.000Z", isDate: true });
});

test("the machine's clock stays where it is", () => {
  const ahead = underMovedClock(
    "(before, clock, machineClock) => [clock() - before, machineClock() - before]",
  );
  expect((ahead as number[]).map((ms) => Math.round(ms / HOUR))).toEqual([1, 0]);
});
