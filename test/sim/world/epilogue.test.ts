import { expect, it } from "vitest";
import { isWaitedFor } from "../epilogue.ts";

const NOW = Date.UTC(2026, 2, 1, 9, 0, 0);
const TOMORROW = NOW + 86_400_000;

it("waits for messages that somebody may receive, and for hidden ones of a topic that is open", () => {
  expect(isWaitedFor({ visibleAt: NOW }, NOW, TOMORROW)).toBe(true);
  expect(isWaitedFor({ visibleAt: NOW + 1 }, NOW, NOW)).toBe(true);
});

it("waits for no message that is hidden until its topic's window opens", () => {
  expect(isWaitedFor({ visibleAt: NOW + 43_200_000 }, NOW, TOMORROW)).toBe(false);
});
