import { LONGEST_LIST } from "../../src/core/constants.ts";
import type { JobSummary } from "../../src/http/answers/jobs.ts";
import { type Match, matchOf, type Search } from "./job-match.ts";
import type { JobPage, JobSelection } from "./reads.ts";
import { HOUR } from "./times.ts";

/** ms since the epoch, `from ≤ due < to`. */
export type DueRange = { readonly from: number; readonly to: number };

export type FoundJob = { readonly job: JobSummary; readonly match: Match; readonly body?: unknown };

/** What a search has done so far. */
export type Searched = {
  /** The best matches first, and among equal ones those that were found first. */
  readonly found: readonly FoundJob[];
  /** How many jobs of the range, dead jobs of any time, and bodies were compared. */
  readonly jobs: number;
  readonly dead: number;
  readonly bodies: number;
  /** All jobs that are due in this part of the range were compared. */
  readonly reached: DueRange;
};

export type Searching = {
  readonly search: Search;
  readonly range: DueRange;
  /** The present time. */
  readonly now: number;
  /** Only jobs of this topic. */
  readonly topic?: string | undefined;
  /** The topics whose dead jobs are compared too, whenever they were due. */
  readonly deadOf: readonly string[];
  /** Whether the body of each job that does not match without it is read too. */
  readonly withBodies: boolean;
};

export type SearchReads = {
  readonly page: (asked: JobSelection, cursor: string | undefined) => Promise<JobPage>;
  readonly dead: (topic: string) => Promise<readonly JobSummary[]>;
  readonly bodyOf: (id: string) => Promise<unknown>;
};

/** Searches part by part. The caller decides after each part whether to go on. */
export async function* searchJobs(asked: Searching, reads: SearchReads): AsyncGenerator<Searched, void> {
  const { range, now, topic, deadOf } = asked;
  const seen = new Set<string>();
  const middle = middleOf(range, now);
  let state: Searched = { found: [], jobs: 0, dead: 0, bodies: 0, reached: { from: middle, to: middle } };
  async function* compared(jobs: readonly JobSummary[], counted: "jobs" | "dead"): AsyncGenerator<Searched> {
    const fresh = jobs.filter(({ id }) => !seen.has(id));
    for (const { id } of fresh) seen.add(id);
    state = { ...state, [counted]: state[counted] + fresh.length };
    for await (const { found, bodies } of matchesAmong(fresh, asked, reads)) {
      state = { ...state, found: withMatches(state.found, found), bodies: state.bodies + bodies };
      yield state;
    }
  }

  // Before the first answer, so that the user can stop a search that gets none.
  yield state;
  for (const name of deadOf) yield* compared(await reads.dead(name), "dead");
  for (const part of partsAround(now, range)) {
    const asks = { topic, from: new Date(part.from).toISOString(), to: new Date(part.to).toISOString() };
    let cursor: string | undefined;
    do {
      const page = await reads.page(asks, cursor);
      cursor = page.cursor;
      yield* compared(page.jobs, "jobs");
      state = {
        ...state,
        reached: reachedBy(state.reached, part, cursor === undefined ? undefined : page.jobs),
      };
      yield state;
    } while (cursor !== undefined);
  }
}

function middleOf({ from, to }: DueRange, now: number): number {
  return Math.min(Math.max(now, from), to);
}

/** The parts of a range from now outwards, in turn after and before, because most searches are for jobs that are due about now. */
export function* partsAround(now: number, range: DueRange): Generator<DueRange> {
  let from = middleOf(range, now);
  let to = from;
  for (let length = HOUR; from > range.from || to < range.to; length = Math.min(2 * length, LONGEST_LIST)) {
    const [earlier, later] = [Math.max(from - length, range.from), Math.min(to + length, range.to)];
    if (later > to) yield { from: to, to: later };
    if (earlier < from) yield { from: earlier, to: from };
    [from, to] = [earlier, later];
  }
}

/** `more`: the jobs of a page that is not the last of its part. A list begins with the earliest jobs, so a part before now is reached only whole. */
function reachedBy(reached: DueRange, part: DueRange, more: readonly JobSummary[] | undefined): DueRange {
  if (part.to <= reached.from) return more === undefined ? { ...reached, from: part.from } : reached;
  if (more === undefined) return { ...reached, to: part.to };
  const last = more.at(-1);
  return last === undefined ? reached : { ...reached, to: Date.parse(last.dueAt) };
}

/** So many bodies are read at a time. */
const BODIES_AT_ONCE = 8;

async function* matchesAmong(
  jobs: readonly JobSummary[],
  { search, withBodies }: Searching,
  { bodyOf }: SearchReads,
): AsyncGenerator<{ found: readonly FoundJob[]; bodies: number }> {
  const unmatched: JobSummary[] = [];
  const found = jobs.flatMap((job) => {
    const match = matchOf(job, search);
    if (match === undefined) unmatched.push(job);
    return match === undefined ? [] : [{ job, match }];
  });
  yield { found, bodies: 0 };
  if (!withBodies) return;
  for (let at = 0; at < unmatched.length; at += BODIES_AT_ONCE) {
    const some = unmatched.slice(at, at + BODIES_AT_ONCE);
    const bodies = await Promise.all(some.map(({ id }) => bodyOf(id)));
    const matching = some.flatMap((job, index) => {
      const match = matchOf(job, search, bodies[index]);
      return match === undefined ? [] : [{ job, match, body: bodies[index] }];
    });
    yield { found: matching, bodies: some.length };
  }
}

function withMatches(known: readonly FoundJob[], found: readonly FoundJob[]): readonly FoundJob[] {
  return found.length === 0 ? known : [...known, ...found].sort((a, b) => a.match.rank - b.match.rank);
}
