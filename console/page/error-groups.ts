import type { JobSummary } from "../../src/http/answers/jobs.ts";
import { namesOfAlike } from "./alike.ts";
import { kindOf, withSharedValues } from "./error-kind.ts";
import { withoutLetterIds } from "./letter-ids.ts";
import { DAY, HOUR, MINUTE } from "./times.ts";

export type ErrorGroup = {
  /** The kind of the error. */
  readonly name: string;
  /** The kind with the values that all of these jobs share. Another job may change it. */
  readonly title: string;
  /** The jobs, the latest failure first. */
  readonly jobs: readonly JobSummary[];
  /** When the first and the last of these jobs failed, ms since the epoch. */
  readonly first: number;
  readonly last: number;
};

/** Groups failed jobs of a topic by the kinds of their errors, the largest group first. */
export function groupByError(jobs: readonly JobSummary[]): ErrorGroup[] {
  const known = grouped.get(jobs) ?? groupsOf(jobs);
  grouped.set(jobs, known);
  return known;
}

/** A view is drawn again each second, with the same jobs. */
const grouped = new WeakMap<readonly JobSummary[], ErrorGroup[]>();

function groupsOf(jobs: readonly JobSummary[]): ErrorGroup[] {
  const errors = jobs.map(({ lastError = "" }) => lastError);
  const joined = withoutLetterIds(Map.groupBy(errors, knownKindOf));
  const kindIn = ({ lastError = "" }: JobSummary) => joined.get(knownKindOf(lastError)) ?? "";
  const kinds = Map.groupBy(jobs, kindIn);
  const names = namesOfAlike(new Map([...kinds].map(([kind, alike]) => [kind, alike.length])));
  const groups = Map.groupBy(jobs, (job) => names.get(kindIn(job)) ?? "");
  return [...groups]
    .map(([name, alike]) => groupOf(name, alike))
    .sort((a, b) => b.jobs.length - a.jobs.length);
}

function groupOf(name: string, alike: readonly JobSummary[]): ErrorGroup {
  const jobs = alike.toSorted((a, b) => failedAt(b) - failedAt(a));
  const [latest = 0, oldest = latest] = [jobs[0], jobs.at(-1)].flatMap((job) => (job ? [failedAt(job)] : []));
  const title = withSharedValues(
    name,
    jobs.map(({ lastError = "" }) => lastError),
  );
  return { name, title, jobs, first: oldest, last: latest };
}

/** When a job failed last: its death, or the start of the attempt that failed. ms since the epoch. */
function failedAt({
  finishedAt,
  claimedAt,
  dueAt,
}: Pick<JobSummary, "finishedAt" | "claimedAt" | "dueAt">): number {
  return Date.parse(finishedAt ?? claimedAt ?? dueAt);
}

/** The groups, of which the largest comes first, or with `newest` the kind that was first seen last. */
export function inOrder(groups: readonly ErrorGroup[], order: string | undefined): readonly ErrorGroup[] {
  return order === "newest" ? groups.toSorted((a, b) => b.first - a.first) : groups;
}

/** The lists are read again each few seconds, and most errors are the same then. */
const kinds = new Map<string, string>();
const MOST_KINDS = 20_000;

function knownKindOf(error: string): string {
  const known = kinds.get(error);
  if (known !== undefined) return known;
  if (kinds.size >= MOST_KINDS) kinds.clear();
  const kind = kindOf(error);
  kinds.set(error, kind);
  return kind;
}

/** A failure within this time says that the errors go on. */
const RECENT = 15 * MINUTE;

/** Failures within this time are one burst, which has no rate. */
const BURST = 5 * MINUTE;

/** `48 within a minute`, `12 new in the last hour`, or, if the last one is older, `4 an hour while it lasted`. Empty for a single failure. */
export function rateText({ jobs, first, last }: ErrorGroup, now: number): string {
  if (jobs.length < 2) return "";
  const all = jobs.length.toLocaleString("en");
  if (last - first <= MINUTE) return `${all} within a minute`;
  if (last - first <= BURST) return `${all} within ${Math.ceil((last - first) / MINUTE)} min`;
  const recent = jobs.filter((job) => failedAt(job) > now - HOUR).length;
  if (recent > 0) return `${recent.toLocaleString("en")} new in the last hour`;
  return `${perTime(jobs.length, last - first)} while it lasted`;
}

/** In the shortest unit in which it is at least one. */
function perTime(count: number, span: number): string {
  const [length, unit] =
    (
      [
        [MINUTE, "a minute"],
        [HOUR, "an hour"],
      ] as const
    ).find(([unit]) => (count * unit) / span >= 1) ?? ([DAY, "a day"] as const);
  const rate = (count * length) / span;
  return `${Number(rate.toPrecision(2)).toLocaleString("en")} ${unit}`;
}

export function isRecent(failure: number, now: number): boolean {
  return failure > now - RECENT;
}

/** The range of the bars of all groups: up to a day until now, or longer if nothing failed in that day. */
export function axisOf(groups: readonly ErrorGroup[], now: number): { from: number; to: number } {
  const first = Math.min(...groups.map((group) => group.first));
  const isOver = Math.max(...groups.map((group) => group.last)) < now - DAY;
  return { from: Math.min(isOver ? first : Math.max(first, now - DAY), now - HOUR), to: now };
}

/** How many of the jobs failed in each of `steps` equal parts of a range. */
export function countsIn(
  jobs: readonly JobSummary[],
  { from, to }: { readonly from: number; readonly to: number },
  steps: number,
): number[] {
  const counts = Array.from({ length: steps }, () => 0);
  for (const job of jobs) {
    const step = Math.floor(((failedAt(job) - from) / (to - from)) * steps);
    // The clock of the queue may be a little ahead.
    const kept = Math.min(step, steps - 1);
    if (kept >= 0) counts[kept] = (counts[kept] ?? 0) + 1;
  }
  return counts;
}
