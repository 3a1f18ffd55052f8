import { MessageChannel } from "node:worker_threads";
import { expect, test, vi } from "vitest";
import { orderLines } from "../../local/ordered-lines.ts";

test("lines are written in the order of their times, and lines of one time in the order of their arrival", async () => {
  const written: string[] = [];
  const lines = orderLines<string>((line) => written.push(line));
  lines.add("moved", 20);
  lines.add("handed over", 20);
  lines.add("started", 10);
  expect(written).toEqual([]);
  await expect.poll(() => written).toEqual(["started", "moved", "handed over"]);
});

test("a line waits for earlier lines that arrive after it", async () => {
  vi.useFakeTimers();
  try {
    const written: string[] = [];
    const lines = orderLines<string>((line) => written.push(line));
    lines.add("second", 2);
    vi.advanceTimersByTime(10);
    lines.add("first", 1);
    lines.add("third", 3);
    vi.advanceTimersByTime(100);
    expect(written).toEqual(["first", "second", "third"]);
  } finally {
    vi.useRealTimers();
  }
});

test("lines that arrive while this process is busy are ordered, too", async () => {
  const written: string[] = [];
  const lines = orderLines<string>((line) => written.push(line));
  const { port1, port2 } = new MessageChannel();
  port1.on("message", () => lines.add("first", 1));
  // Node runs the timers next, and only then reads what has come meanwhile.
  setImmediate(() => {
    lines.add("second", 2);
    const free = performance.now() + 100;
    port2.postMessage("arrives");
    while (performance.now() < free);
  });
  await expect.poll(() => written).toEqual(["first", "second"]);
  port1.close();
});

test("a flush writes what waits, and writes nothing twice", async () => {
  const written: string[] = [];
  const lines = orderLines<string>((line) => written.push(line));
  lines.add("b", 2);
  lines.add("a", 1);
  lines.flush();
  lines.add("c", 3);
  await expect.poll(() => written).toEqual(["a", "b", "c"]);
});
