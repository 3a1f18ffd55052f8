import { describe, expect, it } from "vitest";
import { apiOver } from "../e2e/api.ts";

const DUE_AT = "2026-03-01T09:30:00.000Z";
const EARLY = "2026-03-01T09:29:59.999Z";

/** The suite's view of a job that the API answers so. */
function seen(job: object) {
  return apiOver(async () => Response.json({ id: "j", dueAt: DUE_AT, ...job })).get("j");
}

describe("whichever test looks at a job, everywhere", () => {
  it.for(["running", "done"])("one that is %s and was claimed before it was due fails it", async (state) => {
    await expect(seen({ state, claimedAt: EARLY })).rejects.toThrow(
      `job j was claimed at ${EARLY}, before it was due at ${DUE_AT}`,
    );
  });

  it("one that was claimed on time, or for an earlier time than it now waits for, does not", async () => {
    expect(await seen({ state: "done", claimedAt: DUE_AT })).toMatchObject({ state: "done" });
    expect(await seen({ state: "scheduled", claimedAt: EARLY })).toMatchObject({ state: "scheduled" });
  });
});
