import { describe, expect, it } from "vitest";
import { CLOCK_MARGIN, NEAR } from "../../src/core/constants.ts";
import { type Home, hasCrashed, isRunning, stateAt } from "../../src/core/home.ts";
import { readHome } from "../../src/core/readable.ts";
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

describe("a home", () => {
  const [claim, end] = [
    { token: "t", leaseEnd: TIME, claimedAt: TIME },
    { finishedAt: TIME, expiresAt: 1 },
  ];

  it.each([
    ["running", {}, "it is running without token"],
    ["running", { token: "t", claimedAt: TIME }, "it is running without leaseEnd"],
    ["running", claim, undefined],
    ["done", claim, "it is done without finishedAt"],
    ["done", end, "it is done without token"],
    ["dead", end, undefined],
    ["cancelled", { finishedAt: TIME }, "it is cancelled without expiresAt"],
    ["toString", {}, "its state is no state of a job"],
  ])("that is %s with %j is unreadable if it lacks what its state needs", (state, fields, unreadable) => {
    const home = { ...waitingHome(), state, ...fields } as Home;
    const read = readHome(home, home.id);
    expect("unreadable" in read ? read.unreadable : undefined).toBe(unreadable);
  });

  it("with a token but without a claim does not compile", () => {
    const { state: _, ...fields } = waitingHome();
    // @ts-expect-error: a job that waits has no claim.
    const waits: Home = { ...fields, state: "scheduled", token: "t" };
    // @ts-expect-error: a job that runs has a lease.
    const runs: Home = { ...fields, state: "running", token: "t", claimedAt: TIME };
    expect([waits.state, runs.state]).toEqual(["scheduled", "running"]);
  });
});
