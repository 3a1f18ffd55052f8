import { simulate } from "./simulate.ts";

/** Plays `count` histories from the seed `from`. Answers for each broken one a line with the command that plays it again. */
export async function brokenFrom(from: number, count: number, { weeks = false } = {}): Promise<string[]> {
  const broken: string[] = [];
  for (let seed = from; seed < from + count; seed++) {
    const { violation } = await simulate(seed, { weeks });
    const again = `npm run sim -- ${weeks ? "--weeks " : ""}--seeds 1 --from ${seed}`;
    if (violation) broken.push(`${again}  # ${violation.promise}: ${violation.text}`);
  }
  return broken;
}
