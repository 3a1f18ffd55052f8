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
  type Obligations,
  obligationsOf,
  type ViolationKind,
} from "./promises.ts";
import { isUntracked, type Story, tellStories } from "./story.ts";

export type Violation = { readonly kind: ViolationKind; readonly n: number; readonly why: string };

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
  const wrong = unexpected.map(({ n, what }): Violation => ({ kind: "unexpected answer", n, why: what }));
  const excused = new Set(unexpected.map(({ n }) => n));
  const all = stories.map((story): Told => {
    const obligations = obligationsOf(story);
    return { story, obligations, open: obligations.wanted.filter((one) => !isMet(story, one)) };
  });
  const judged = all.map((told) =>
    judgeStory(told, { faults, over, mayBeUnanswered: excused.has(told.story.n) }),
  );
  const ranAgain = judged.flatMap((one) => one.ranAgain);
  return {
    ...countsOf(all),
    changes: changesOf(all),
    ranAgain: Object.fromEntries(
      CAUSES.map((cause) => [cause, ranAgain.filter((one) => one === cause).length]),
    ) as Record<Cause, number>,
    untracked: untrackedOf(all),
    lateness: judged.flatMap((one) => one.lateness),
    waiting: all.flatMap(({ story, open }) =>
      open.map(({ id }) => ({ n: story.n, id, untracked: isUntracked(story) })),
    ),
    violations: [...wrong, ...judged.flatMap((one) => one.violations)],
  };
}

type Told = {
  readonly story: Story;
  readonly obligations: Obligations;
  readonly open: Obligations["wanted"];
};

type Rules = {
  readonly faults: Parameters<typeof findRepeats>[1];
  readonly over: boolean;
  /** A request of the job had an unexpected answer, which is a violation already. */
  readonly mayBeUnanswered: boolean;
};

function judgeStory({ story, obligations, open }: Told, { faults, over, mayBeUnanswered }: Rules) {
  const violations: Violation[] = [];
  const accuse = (kind: ViolationKind, why: string) => violations.push({ kind, n: story.n, why });
  if (over && !mayBeUnanswered) findUnanswered(story, accuse);
  const lateness = findEarly(story, accuse);
  if (isUntracked(story)) return { violations, lateness, ranAgain: [] };
  findVoid(story, accuse);
  findTwins(story, accuse);
  const ranAgain = findRepeats(story, faults, accuse);
  if (over) {
    for (const { versions } of open)
      accuse("lost", `version ${versions.join(" or ")} was acknowledged and never ran to its end`);
    findUnsettled(story, obligations, accuse);
  }
  return { violations, lateness, ranAgain };
}

function countsOf(all: readonly Told[]) {
  const count = (is: (told: Told) => boolean) => all.filter(is).length;
  const sum = (numberOf: (story: Story) => number) =>
    all.reduce((sum, { story }) => sum + numberOf(story), 0);
  return {
    asked: count(({ story }) => story.asked.length > 0),
    acknowledged: count(({ obligations }) => obligations.acknowledged),
    cancelled: count(({ obligations }) => obligations.cancelled !== undefined),
    completed: count(
      ({ obligations, open }) =>
        obligations.acknowledged && obligations.cancelled === undefined && open.length === 0,
    ),
    dead: count(({ story }) => [...story.states.values()].includes("dead")),
    failed: sum(({ ended }) => ended.filter(({ how }) => how === "failed").length),
    starts: sum(({ started }) => started.length),
  };
}

function changesOf(all: readonly Told[]): Verdict["changes"] {
  const answers = all.flatMap(({ story }) => story.answered);
  return {
    applied: answers.filter((one) => one.version > 0 && one.outcome !== "refused").length,
    refused: answers.filter((one) => one.outcome === "refused").length,
  };
}

function untrackedOf(all: readonly Told[]): Verdict["untracked"] {
  const untracked = all.filter(({ story }) => isUntracked(story));
  return {
    acknowledged: untracked.filter(({ obligations }) => obligations.acknowledged).length,
    lost: untracked.reduce((sum, { open }) => sum + open.length, 0),
    ranAgain: untracked.reduce((sum, { story }) => sum + Math.max(0, story.started.length - 1), 0),
  };
}
