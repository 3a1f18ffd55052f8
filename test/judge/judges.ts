import { playBatches } from "./batches.ts";
import { playHandOver } from "./hand-over.ts";
import { playKeys } from "./keys.ts";
import type { History } from "./world.ts";

type Judge = (seed: number, isTraced: boolean) => Promise<History>;

export const JUDGES = {
  keys: playKeys,
  batches: playBatches,
  "hand-over": playHandOver,
} satisfies Record<string, Judge>;

export type JudgeName = keyof typeof JUDGES;
export const JUDGE_NAMES = Object.keys(JUDGES) as JudgeName[];

/** How many events of a history a story tells at most. */
const EVENTS = 60;
const JOB_ID = /[0-9A-Z]{26}/g;

/** Says what a history has broken, with the command that plays it again, and what happened to the jobs of the first violation. */
export async function explain(name: JudgeName, seed: number): Promise<string> {
  const { violations, trace } = await JUDGES[name](seed, true);
  const command = `npm run judge -- --only ${name} --seeds 1 --from ${seed} --trace`;
  const told = trace.slice(0, trace.findIndex((line) => line.includes("VIOLATION")) + 1);
  const ids = violations[0]?.match(JOB_ID) ?? [""];
  const story = told.filter((line) => ids.some((id) => line.includes(id))).slice(-EVENTS);
  return [command, ...violations, "the events of its jobs:", ...story].join("\n  ");
}

/** Plays histories from the seed `from` on. Answers the stories of those that broke a promise; empty if none did. */
export async function storiesOfBroken(name: JudgeName, from: number, histories: number): Promise<string> {
  const stories: string[] = [];
  for (let seed = from; seed < from + histories; seed++)
    if ((await JUDGES[name](seed, false)).violations.length > 0) stories.push(await explain(name, seed));
  return stories.join("\n\n");
}
