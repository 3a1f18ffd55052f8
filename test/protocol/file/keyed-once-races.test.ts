import { describe, expect, it } from "vitest";
import type { MinutehandError } from "../../../src/core/errors.ts";
import type { NewJob } from "../../../src/protocol/new-job.ts";
import { seededBytes } from "../../../src/testing/random.ts";
import { consume } from "../../support/consume.ts";
import { fail, key, liveHomes } from "../../support/scenes.ts";
import { createWorld, HOUR, type World } from "../../support/world.ts";

const SEEDS = Array.from({ length: 200 }, (_, seed) => seed);
/** The most turns that a call to the pool waits before and after its effect. */
const LONGEST = 40;

/** Makes the calls to the pool take effect in an order that the seed draws. */
function shuffle(world: World, seed: number): void {
  const draw = seededBytes(seed);
  const wait = async (): Promise<void> => {
    for (let turns = (draw(1)[0] ?? 0) % LONGEST; turns > 0; turns--) await Promise.resolve();
  };
  world.pool.hooks.before = wait;
  world.pool.hooks.after = wait;
}

/** Makes two or more calls of one request at once. Answers the outcomes, and the ids of the jobs that the calls name. */
async function atOnce(world: World, calls: number, job: Partial<NewJob>) {
  const asked = { key, once: { token: "t", hash: "h" }, delay: HOUR, ...job };
  const results = await Promise.allSettled(Array.from({ length: calls }, () => world.fileAll(asked)));
  return results.map((result) => {
    if (result.status === "fulfilled") return { outcome: result.value.outcome, id: result.value.home.id };
    const { code, data } = result.reason as MinutehandError;
    return { outcome: code as string, id: data?.id };
  });
}

const holders = {
  none: async () => {},
  live: (world: World) => world.file({ key, delay: 3 * HOUR }),
  dead: async (world: World) => {
    await world.file({ key, maxAttempts: 1 });
    await consume(world, "orders", { run: fail });
  },
};

describe("calls of one request with a key and an Idempotency-Key that come at once", () => {
  it.each([
    ["none", "reject", "created"],
    ["none", "keep", "created"],
    ["dead", "reject", "created"],
    ["live", "keep", "kept"],
    ["live", "replace", "replaced"],
    ["live", "reject", "job-already-exists"],
  ] as const)(
    "if the key's job is %s: with %s one is %s, and the others answer the same job",
    async (holder, onDuplicate, outcome) => {
      for (const seed of SEEDS) {
        const world = createWorld();
        await holders[holder](world);
        shuffle(world, seed);
        const answers = await atOnce(world, 2 + (seed % 2), { onDuplicate });
        const [first, ...others] = answers.sort(
          (one, other) => Number(other.outcome === outcome) - Number(one.outcome === outcome),
        );
        // The clock stands still, so a second call cannot tell another call's replace from its own, whose answer was lost.
        const repeats = { "job-already-exists": [outcome], replaced: ["replayed", outcome] };
        const allowed = repeats[outcome as keyof typeof repeats] ?? ["replayed"];
        expect([seed, first?.outcome]).toEqual([seed, outcome]);
        for (const other of others) expect(allowed, `seed ${seed}`).toContain(other.outcome);
        expect(new Set(answers.map(({ id }) => id)).size).toBe(1);
        expect(liveHomes(world)).toMatchObject([{ revision: outcome === "replaced" ? 1 : 0 }]);
      }
    },
  );
});
