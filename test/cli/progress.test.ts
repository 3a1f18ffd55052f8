import { expect, test } from "vitest";
import { createProgress } from "../../cli/progress.ts";
import { SECOND } from "../support/world.ts";

test("where nobody looks long work has a line each ten seconds, and short work none", () => {
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
