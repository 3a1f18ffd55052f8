import { describe, expect, it } from "vitest";
import { apiOver } from "../e2e/api.ts";

const DUE_AT = "2026-03-01T09:30:00.000Z";
const EARLY = "2026-03-01T09:29:59.999Z";

function seen(job: object) {
  return apiOver(async () => Response.json({ id: "j", dueAt: DUE_AT, ...job })).get("j");
}

describe("a test of the suite that reads a job", () => {
  it.for(["running", "done"])("fails if the job is %s and was claimed before it was due", async (state) => {
    await expect(seen({ state, claimedAt: EARLY })).rejects.toThrow(
      `job j was claimed at ${EARLY}, before it was due at ${DUE_AT}`,
    );
  });

  it("does not fail if the job was claimed on time, or was claimed before it was moved to a later time", async () => {
    expect(await seen({ state: "done", claimedAt: DUE_AT })).toMatchObject({ state: "done" });
    expect(await seen({ state: "scheduled", claimedAt: EARLY })).toMatchObject({ state: "scheduled" });
  });
});
