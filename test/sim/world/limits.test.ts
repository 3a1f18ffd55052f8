import { expect, it } from "vitest";
import { limitsOf } from "../witness/limits.ts";

const NOW = Date.UTC(2026, 2, 1, 9, 0, 0);

/** A topic with a limit of two starts a second, and these jobs in one second. Two jobs more may spill over from the second before. */
function limitWith(jobs: readonly { id: string; revision: number }[]) {
  const limits = limitsOf(() => NOW, 0, { rush: { maxPerSecond: 2 } });
  const start = { attempt: 1, dueAt: new Date(NOW).toISOString(), body: {} };
  for (const job of jobs) limits.sent("rush", [{ ...job, ...start }], NOW);
  return limits;
}

const FOUR = ["a", "b", "c", "d"].map((id) => ({ id, revision: 0 }));

it("a job that was sent again with another body and the same start counts once", () => {
  expect(limitWith([...FOUR, { id: "a", revision: 1 }]).broken()).toBeUndefined();
});

it("one job more than a limit allows breaks the limit", () => {
  expect(limitWith([...FOUR, { id: "e", revision: 0 }]).broken()).toContain(
    "5 jobs of rush were shown in 1 periods",
  );
});
