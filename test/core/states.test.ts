import { describe, expect, it } from "vitest";
import { CHANGES, changeOf, type Row } from "../../src/core/states.ts";
import { waitingHome } from "./waiting-home.ts";

const ROWS: [string, Row][] = Object.entries(CHANGES);
const ENDS = ["done", "cancelled", "dead", "expired"];

describe("the table of states", () => {
  it("lets no ended job go on, except a dead job that is redriven or dismissed", () => {
    const again = ROWS.filter(([, { from = "" }]) => ENDS.includes(from));
    expect(again.map(([name]) => name)).toEqual(["dismiss", "redrive"]);
  });

  it("lets only a waiting job be claimed, and no claim replace another", () => {
    const claims = ROWS.filter(([, { sets, may = [] }]) => [...sets, ...may].includes("token"));
    expect(claims.map(([name, { from, to }]) => [name, from, to])).toEqual([
      ["claim", "scheduled", "running"],
    ]);
  });

  it("says of each job that ends when it ended, and when TTL deletes it", () => {
    for (const [name, { to = "", sets }] of ROWS)
      if (ENDS.includes(to)) expect(sets, name).toEqual(expect.arrayContaining(["finishedAt", "expiresAt"]));
  });

  it("leaves nothing of the claim or of the end in a job that waits again", () => {
    for (const [name, { from, to, clears }] of ROWS)
      if (from !== undefined && to === "scheduled")
        expect(clears, name).toEqual(
          expect.arrayContaining(["token", "leaseEnd", "cancelAskedAt", "finishedAt", "expiresAt"]),
        );
  });

  it("makes each change of a stored job depend on its revision or its claim", () => {
    for (const [name, { from, asRead }] of ROWS)
      if (from !== undefined)
        expect(
          asRead?.some((attribute) => attribute === "revision" || attribute === "token"),
          name,
        ).toBe(true);
  });
});

describe("the write of a change", () => {
  const home = waitingHome({ revision: 3, heldUntil: 7 });

  it("expects the state and the attributes as they were read, also those that were absent", () => {
    const { expect: expected } = changeOf("hold", home, { heldUntil: 9 }, { also: ["key"] });
    expect(expected).toEqual({ state: "scheduled", revision: 3, heldUntil: 7, key: undefined });
  });

  it("writes the new state only if the state changes, or the change is a move", () => {
    expect(changeOf("hold", home, { heldUntil: 9 }).set).toEqual({ heldUntil: 9 });
    const end = { finishedAt: 8, expiresAt: 9 };
    expect(changeOf("cancel", home, end).set).toEqual({ state: "cancelled", ...end });
  });

  it("removes what the change clears, unless it sets it", () => {
    const moved = { dueAt: 8, revision: 4, log: [], attempt: 0, askedAt: 8, heldUntil: 9 };
    const { remove } = changeOf("move", home, moved, { remove: ["lastError"] });
    expect(remove).toEqual(expect.arrayContaining(["token", "expiresAt", "lastError"]));
    expect(remove).not.toContain("heldUntil");
    expect(changeOf("cancel", home, { finishedAt: 8, expiresAt: 9 })).not.toHaveProperty("remove");
  });

  it("does not compile without what the change sets", () => {
    // @ts-expect-error: a claim has a lease.
    expect(changeOf("claim", home, { token: "t", claimedAt: 8, attempt: 1 }).set).toBeDefined();
    // @ts-expect-error: a settle names the token of its run.
    expect(changeOf("finish", { id: home.id }, { finishedAt: 8, expiresAt: 9 }).expect).toBeDefined();
  });
});
