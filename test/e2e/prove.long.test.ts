import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, inject, it } from "vitest";
import { startRun } from "../../src/cli/prove.ts";
import { createClient } from "../../src/client/http-client.ts";
import { here } from "./here.ts";

const { skip, title } = here("local-commands", "minutehand prove on the local stack");

describe.skipIf(skip)(title, () => {
  it("finds that all jobs do as promised", async () => {
    const { api } = inject("target");
    const client = createClient({ url: "url" in api ? api.url : "" });
    const failing = { body: { fails: "not yet", failsUntil: 2 } };
    const plan = { topic: "reminders", jobs: 10, body: { text: "prove" }, failing };
    const run = startRun(client, plan, { clock: Date.now, wait: (ms) => sleep(ms) });
    const proofs = await run.prove(() => {});
    expect(proofs.map(({ kept }) => kept)).toEqual([10, 10, 10, 10]);
    expect(await run.remove()).toBe(0);
  });
});
