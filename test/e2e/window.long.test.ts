import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { type JobView, type Pulled, sharedApi } from "./api.ts";

const HALF_DAY = 12 * 3_600_000;
const SIX_O_CLOCK = 6 * 3_600_000;
const LATE_AFTER = 60_000;
/** A test takes less, so a window that is open for this long stays open until the test ends. */
const OPEN_FOR = 5 * 60_000;

const api = sharedApi();

/** The window of `days` is open whenever that of `nights` is closed. In order, because a receive may take any job of its topic. */
describe("a topic with a window and a bound on lateness", () => {
  it("hands jobs over only inside its window, and a job that is due outside waits for the opening", async () => {
    const { open, shut, turnsAt } = await windowsNow();
    const going = await api.file({ topic: open, delay: 0 });
    const held = await api.file({ topic: shut, delay: 0 });
    const { receipt } = await api.pull(open, going.id);
    expect((await api.call("POST", `/topics/${open}/finish`, { receipt })).status).toBe(200);
    expect(await api.get(going.id)).not.toHaveProperty("heldUntil");

    const waiting = await api.until(held.id, ({ heldUntil }) => heldUntil !== undefined);
    expect(waiting).toMatchObject({ state: "scheduled", attempt: 0, dueAt: held.dueAt });
    expect(waiting.heldUntil).toBe(new Date(turnsAt).toISOString());
    expect((await receive(shut, 2)).map(({ id }) => id)).not.toContain(held.id);
    expect((await api.call("DELETE", `/jobs/${held.id}`)).status).toBe(200);
  });

  it("ends a job that no receive asked for in time, and says why", async () => {
    const { open } = await windowsNow();
    const late = await api.file({ topic: open, delay: 0 });
    await sleep(LATE_AFTER + 1000);
    const pulled: string[] = [];
    const ended = async (): Promise<JobView> => {
      pulled.push(...(await receive(open, 1)).map(({ id }) => id));
      return api.get(late.id);
    };
    await expect.poll(ended).toMatchObject({ state: open === "days" ? "cancelled" : "expired" });
    const { attempt, lastError, timeline, ...job } = await ended();
    expect(attempt).toBe(0);
    expect(job).not.toHaveProperty("claimedAt");
    expect(lastError).toMatch(/started \d+\.?\d* s late, and its topic allows 60 s/);
    expect(timeline?.map(({ event }) => event)).toEqual(["filed", "sent", job.state]);
    expect(pulled).not.toContain(late.id);
  });
});

/** Answers which of the two windows is open, and when that changes. If it changes soon, waits for the change first. */
async function windowsNow(): Promise<{ open: string; shut: string; turnsAt: number }> {
  const turn = Math.floor((Date.now() - SIX_O_CLOCK) / HALF_DAY);
  const turnsAt = (turn + 1) * HALF_DAY + SIX_O_CLOCK;
  if (turnsAt - Date.now() < OPEN_FOR) {
    await sleep(turnsAt + 1000 - Date.now());
    return windowsNow();
  }
  const [open, shut] = turn % 2 === 0 ? ["days", "nights"] : ["nights", "days"];
  return { open, shut, turnsAt };
}

async function receive(topic: string, waitSeconds: number): Promise<Pulled[]> {
  const { status, body } = await api.call<{ jobs: Pulled[] }>("POST", `/topics/${topic}/receive`, {
    max: 10,
    waitSeconds,
  });
  expect(status).toBe(200);
  return body.jobs;
}
