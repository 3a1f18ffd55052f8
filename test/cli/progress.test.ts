import { expect, test } from "vitest";
import { createProgress } from "../../src/cli/progress.ts";
import { SECOND } from "../support/world.ts";

test("without a terminal, long work prints a line each ten seconds, and short work prints none", () => {
  let [now, written] = [0, ""];
  const stderr = {
    write(text: string) {
      written += text;
      return true;
    },
    once() {},
  };
  const progress = createProgress({ stderr, clock: () => now });
  for (const second of [5, 9, 10, 15, 19, 20]) {
    now = second * SECOND;
    progress.show(`${second} s`);
  }
  progress.clear();
  expect(written).toBe("10 s\n20 s\n");
});

test.each([undefined, 0])("on a terminal of %s columns a short text keeps its last letter", (columns) => {
  let written = "";
  const stderr = {
    isTTY: true,
    write: (text: string) => (written += text),
    ...(columns === 0 ? { columns } : {}),
  };
  createProgress({ stderr, clock: () => 0 }).show("1,234 of 2,000 jobs");
  expect(written.endsWith("jobs")).toBe(true);
});
