import { describe, expect, it } from "vitest";
import { CLOCK_MARGIN, NEAR } from "../../core/constants.ts";
import { hasCrashed, isRunning, stateAt } from "../../core/home.ts";
import { TIME, waitingHome } from "./waiting-home.ts";

describe("leases", () => {
  it("count as live until the clock margin after their end", () => {
    const running = waitingHome({ state: "running", leaseEnd: TIME });
    expect(isRunning(running, TIME + CLOCK_MARGIN - 1)).toBe(true);
    expect(hasCrashed(running, TIME + CLOCK_MARGIN)).toBe(true);
    expect(stateAt(running, TIME + CLOCK_MARGIN)).toBe("scheduled");
  });

  it("an untracked job is handed off once it is near", () => {
    const stored = waitingHome({ untracked: true });
    expect(stateAt(stored, TIME - NEAR - 1)).toBe("scheduled");
    expect(stateAt(stored, TIME - NEAR)).toBe("handed-off");
  });
});
