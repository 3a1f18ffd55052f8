import { setTimeout as sleep } from "node:timers/promises";
import { call } from "./call.ts";
import { judge } from "./judge.ts";
import { type LedgerEvent, record } from "./ledger.ts";
import { FINAL } from "./promises.ts";
import { isUntracked, tellStories } from "./story.ts";

const LOOK_EVERY_MS = 2_000;
const CALLERS = 8;
/** An untracked job missing after this counts as lost, which is allowed. The message of a killed consumer comes again sooner. */
const UNTRACKED_PATIENCE_MS = 90_000;

/** Waits at most `ms` until each tracked job has reached a final state. Records the states in the ledger, after `ms` also those that are not final. */
export async function drain(
  url: string,
  ledger: string,
  events: () => readonly LedgerEvent[],
  ms: number,
): Promise<void> {
  const end = Date.now() + ms;
  const settled = new Set<string>();
  let trackedSince: number | undefined;
  for (;;) {
    const { waiting } = judge(events(), false);
    const tracked = waiting.filter(({ untracked }) => !untracked);
    const open = new Set(tracked.map(({ id }) => id));
    const ids = trackedJobs(events()).filter(({ id }) => !settled.has(id));
    const over = Date.now() >= end;
    await recordStates(over ? ids : ids.filter(({ id }) => !open.has(id)));
    if (over) return;
    if (open.size === 0 && ids.every(({ id }) => settled.has(id))) {
      trackedSince ??= Date.now();
      if (waiting.length === 0 || Date.now() - trackedSince > UNTRACKED_PATIENCE_MS) return;
    }
    await sleep(LOOK_EVERY_MS);
  }

  async function recordStates(jobs: readonly { n: number; id: string }[]): Promise<void> {
    const left = jobs.values();
    await Promise.all(
      Array.from({ length: CALLERS }, async () => {
        for (const { n, id } of left) {
          const answer = await call(url, "GET", `/jobs/${id}`);
          const state =
            answer?.status === 200 ? (answer.body as { state: string }).state : `${answer?.status}`;
          if (FINAL.has(state)) settled.add(id);
          if (FINAL.has(state) || Date.now() >= end)
            record(ledger, { event: "state", n, id, state, at: Date.now() });
        }
      }),
    );
  }
}

function trackedJobs(events: readonly LedgerEvent[]): { n: number; id: string }[] {
  return tellStories(events)
    .stories.filter((story) => !isUntracked(story))
    .flatMap(({ n, answered }) =>
      answered.flatMap(({ id, outcome }) => (outcome === "created" ? [{ n, id }] : [])),
    );
}
