import type { LedgerEvent } from "./ledger.ts";
import {
  CAUSES,
  type Cause,
  findEarly,
  findRepeats,
  findTwins,
  findUnanswered,
  findUnsettled,
  findVoid,
  isMet,
  obligationsOf,
  type ViolationKind,
} from "./promises.ts";
import { isUntracked, tellStories } from "./story.ts";

export type Violation = { readonly kind: ViolationKind; readonly n: number; readonly why: string };

/** An acknowledged job that has not run to its end. */
export type Waiting = { readonly n: number; readonly id: string; readonly untracked: boolean };

export type Verdict = {
  /** Jobs that producers asked for, with or without an answer. */
  readonly asked: number;
  readonly acknowledged: number;
  readonly cancelled: number;
  /** Changes that were acknowledged, and changes that were refused because the job ran or had ended. */
  readonly changes: { readonly applied: number; readonly refused: number };
  /** Jobs that were acknowledged and not cancelled, and that ran to the end of their handler or are dead. */
  readonly completed: number;
  readonly dead: number;
  /** Runs that failed on purpose. */
  readonly failed: number;
  readonly starts: number;
  readonly ranAgain: Readonly<Record<Cause, number>>;
  readonly untracked: { readonly acknowledged: number; readonly lost: number; readonly ranAgain: number };
  /** How late first runs started, in ms. */
  readonly lateness: readonly number[];
  /** Jobs that have still to run. At the end of the torture they are lost. */
  readonly waiting: readonly Waiting[];
  readonly violations: readonly Violation[];
};

/** Judges by the ledger which promises were kept. `over`: no job will run any more, so that a waiting job is lost. */
export function judge(events: readonly LedgerEvent[], over: boolean): Verdict {
  const { stories, faults, unexpected } = tellStories(events);
  const violations: Violation[] = unexpected.map(({ n, what }) => ({
    kind: "unexpected answer",
    n,
    why: what,
  }));
  const ranAgain = Object.fromEntries(CAUSES.map((cause) => [cause, 0])) as Record<Cause, number>;
  const changes = { applied: 0, refused: 0 };
  const untracked = { acknowledged: 0, lost: 0, ranAgain: 0 };
  const count = { asked: 0, acknowledged: 0, cancelled: 0, completed: 0, dead: 0, failed: 0, starts: 0 };
  const lateness: number[] = [];
  const waiting: Waiting[] = [];

  for (const story of stories) {
    const { n, asked, answered, started, ended, states } = story;
    const accuse = (kind: ViolationKind, why: string) => violations.push({ kind, n, why });
    const obligations = obligationsOf(story);
    const { acknowledged, cancelled, wanted } = obligations;
    const open = wanted.filter((one) => !isMet(story, one));

    count.asked += Number(asked.length > 0);
    count.acknowledged += Number(acknowledged);
    count.cancelled += Number(cancelled !== undefined);
    count.completed += Number(acknowledged && cancelled === undefined && open.length === 0);
    count.dead += Number([...states.values()].includes("dead"));
    count.failed += ended.filter(({ how }) => how === "failed").length;
    count.starts += started.length;
    changes.applied += answered.filter((one) => one.version > 0 && one.outcome !== "refused").length;
    changes.refused += answered.filter((one) => one.outcome === "refused").length;
    if (over && unexpected.every((one) => one.n !== n)) findUnanswered(story, accuse);
    lateness.push(...findEarly(story, accuse));
    waiting.push(...open.map(({ id }) => ({ n, id, untracked: isUntracked(story) })));

    if (isUntracked(story)) {
      untracked.acknowledged += Number(acknowledged);
      untracked.lost += open.length;
      untracked.ranAgain += Math.max(0, started.length - 1);
      continue;
    }
    findVoid(story, accuse);
    findTwins(story, accuse);
    for (const cause of findRepeats(story, faults, accuse)) ranAgain[cause] += 1;
    if (!over) continue;
    for (const { versions } of open)
      accuse("lost", `version ${versions.join(" or ")} was acknowledged and never ran to its end`);
    findUnsettled(story, obligations, accuse);
  }
  return { ...count, changes, ranAgain, untracked, lateness, waiting, violations };
}
