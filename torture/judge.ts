import { CLOCK_MARGIN } from "../core/constants.ts";
import type { Answered, Asked, Ended, Fault, LedgerEvent, Started } from "./ledger.ts";
import { UNTRACKED } from "./load.ts";

export type ViolationKind =
  | "lost"
  | "early"
  | "ran after its cancel or change"
  | "ran twice in one attempt"
  | "ran again under a live lease"
  | "not settled"
  | "unexpected answer";

export type Violation = { readonly kind: ViolationKind; readonly n: number; readonly why: string };

/** Why a job ran again although nobody asked for that. */
export type Cause =
  | "its process was killed"
  | "its process was frozen"
  | "its stack was killed"
  | "its end was not recorded in time";

export type Verdict = {
  /** Jobs that producers wanted: asked for at least; acknowledged; of these cancelled before they ran. */
  readonly asked: number;
  readonly acknowledged: number;
  readonly cancelled: number;
  /** Changes acknowledged, and refused since the job ran or had ended. */
  readonly changes: { readonly applied: number; readonly refused: number };
  /** Acknowledged, wanted, and run to a handler's end. */
  readonly completed: number;
  readonly dead: number;
  /** Runs that failed on purpose. */
  readonly failed: number;
  readonly starts: number;
  readonly ranAgain: Readonly<Record<Cause, number>>;
  readonly untracked: { readonly acknowledged: number; readonly lost: number; readonly ranAgain: number };
  /** ms from due to start, of first runs. */
  readonly lateness: readonly number[];
  /** What has still to run; lost, if nothing more comes. */
  readonly waiting: readonly Waiting[];
  readonly violations: readonly Violation[];
};

/** Something acknowledged that has not run to its end. */
export type Waiting = { readonly n: number; readonly id: string; readonly untracked: boolean };

type Story = {
  readonly n: number;
  readonly asked: Asked[];
  readonly answered: Answered[];
  readonly started: Started[];
  readonly ended: Ended[];
  readonly states: Map<string, string>;
};

const FINAL = new Set(["done", "cancelled", "dead", "expired"]);

/** Everything the ledger has of one job, in its order. */
export function historyOf(events: readonly LedgerEvent[], n: number): LedgerEvent[] {
  return events.filter((event) => "n" in event && event.n === n);
}

/** What the ledger says of the promises. `over`: nothing more will run, so that what waits is lost. */
export function judge(events: readonly LedgerEvent[], over: boolean): Verdict {
  const stories = new Map<number, Story>();
  const faults: Fault[] = [];
  const violations: Violation[] = [];
  for (const event of events) {
    if (event.event === "fault") faults.push(event);
    else if (event.event === "unexpected")
      violations.push({ kind: "unexpected answer", n: event.n, why: event.what });
    else add(storyOf(stories, event.n), event);
  }
  const tally = {
    acknowledged: 0,
    cancelled: 0,
    applied: 0,
    refused: 0,
    completed: 0,
    dead: 0,
    failed: 0,
    starts: 0,
    untracked: 0,
    untrackedLost: 0,
    untrackedAgain: 0,
  };
  const ranAgain: Record<Cause, number> = {
    "its process was killed": 0,
    "its process was frozen": 0,
    "its stack was killed": 0,
    "its end was not recorded in time": 0,
  };
  const lateness: number[] = [];
  const waiting: Waiting[] = [];

  for (const story of stories.values()) {
    const accuse = (kind: ViolationKind, why: string) => violations.push({ kind, n: story.n, why });
    const untracked = story.asked[0]?.topic === UNTRACKED;
    tally.starts += story.started.length;
    tally.failed += story.ended.filter(({ how }) => how === "failed").length;
    tally.applied += story.answered.filter(
      ({ outcome, version }) => version > 0 && outcome !== "refused",
    ).length;
    tally.refused += story.answered.filter(({ outcome }) => outcome === "refused").length;

    lateness.push(...findEarly(story, accuse));
    if (untracked) tally.untrackedAgain += Math.max(0, story.started.length - 1);
    else {
      findVoid(story, accuse);
      for (const cause of findRepeats(story, faults, accuse)) ranAgain[cause] += 1;
    }

    const { acknowledged, cancelled, wanted } = obligationsOf(story);
    if (!acknowledged) continue;
    tally.acknowledged += 1;
    if (untracked) tally.untracked += 1;
    if (cancelled) tally.cancelled += 1;
    if ([...story.states.values()].includes("dead")) tally.dead += 1;
    const open = wanted.filter((one) => !isMet(story, one));
    for (const { id } of open) waiting.push({ n: story.n, id, untracked });
    if (open.length === 0 && !cancelled) tally.completed += 1;
    if (open.length > 0 && untracked) tally.untrackedLost += 1;
    if (over && !untracked) {
      for (const { versions } of open)
        accuse("lost", `version ${versions.join(" or ")} was acknowledged and never ran to its end`);
      for (const [id, state] of story.states)
        if (!FINAL.has(state)) accuse("not settled", `job ${id} is ${state} at the end`);
    }
  }

  const { acknowledged, cancelled, completed, dead, failed, starts } = tally;
  return {
    asked: [...stories.values()].filter(({ asked }) => asked.length > 0).length,
    acknowledged,
    cancelled,
    changes: { applied: tally.applied, refused: tally.refused },
    completed,
    dead,
    failed,
    starts,
    ranAgain,
    untracked: { acknowledged: tally.untracked, lost: tally.untrackedLost, ranAgain: tally.untrackedAgain },
    lateness,
    waiting,
    violations,
  };
}

function storyOf(stories: Map<number, Story>, n: number): Story {
  const known = stories.get(n);
  if (known) return known;
  const story = { n, asked: [], answered: [], started: [], ended: [], states: new Map() };
  stories.set(n, story);
  return story;
}

function add(story: Story, event: Exclude<LedgerEvent, { event: "fault" | "unexpected" }>): void {
  if (event.event === "asked") story.asked.push(event);
  else if (event.event === "answered") story.answered.push(event);
  else if (event.event === "started") story.started.push(event);
  else if (event.event === "ended") story.ended.push(event);
  else story.states.set(event.id, event.state);
}

type Accuse = (kind: ViolationKind, why: string) => void;

/** P2. Answers how late first runs were. */
function findEarly({ asked, started }: Story, accuse: Accuse): number[] {
  const late: number[] = [];
  for (const run of started) {
    // The request's own time counts, whatever the system has made of it.
    const wanted = asked.find(({ version }) => version === run.version)?.dueAt ?? 0;
    const dueAt = Math.max(run.dueAt, wanted);
    if (run.at < dueAt)
      accuse(
        "early",
        `attempt ${run.attempt} of version ${run.version} started ${dueAt - run.at} ms before it was due`,
      );
    if (run.attempt === 1) late.push(run.at - dueAt);
  }
  return late;
}

/** P4: once a change is acknowledged, nothing older of that job starts. */
function findVoid({ answered, started }: Story, accuse: Accuse): void {
  for (const change of answered) {
    if (change.outcome !== "applied") continue;
    for (const run of started) {
      const isVoid = run.id === change.id && run.version < change.version;
      if (isVoid && run.at > change.at)
        accuse(
          "ran after its cancel or change",
          `version ${run.version} started ${run.at - change.at} ms after version ${change.version} was acknowledged`,
        );
    }
  }
}

/** P5. Answers why each run came that nobody had asked for. */
function findRepeats({ started, ended }: Story, faults: readonly Fault[], accuse: Accuse): Cause[] {
  const causes: Cause[] = [];
  for (const runs of Map.groupBy(started, ({ id, version }) => `${id} ${version}`).values()) {
    const seen = new Set<string>();
    let before: Started | undefined;
    for (const run of runs.sort((a, b) => a.at - b.at)) {
      const name = `${run.attempt} ${run.dueAt}`;
      if (seen.has(name)) accuse("ran twice in one attempt", `attempt ${run.attempt} started again`);
      else if (before && !hasFailed(before, run.at, ended)) {
        // A lease ends after its run's start, and is honoured for as long as clocks may differ.
        const over = (before.leaseUntil ?? before.at) + CLOCK_MARGIN;
        if (run.at >= over) causes.push(causeOf(before, run, faults));
        else accuse("ran again under a live lease", `${over - run.at} ms before that could have been over`);
      }
      seen.add(name);
      before = run;
    }
  }
  return causes;
}

/** Whether a run failed on purpose, so that the next one is wanted. */
function hasFailed(run: Started, by: number, ended: readonly Ended[]): boolean {
  const { id, version, attempt } = run;
  return ended.some(
    (end) =>
      end.how === "failed" &&
      end.id === id &&
      end.version === version &&
      end.attempt === attempt &&
      end.at <= by,
  );
}

function causeOf(before: Started, again: Started, faults: readonly Fault[]): Cause {
  const since = faults.filter(({ at, ms = 0 }) => at + ms >= before.at - 1_000 && at <= again.at);
  if (since.some(({ fault, pid }) => fault.startsWith("kill") && pid === before.pid))
    return "its process was killed";
  if (since.some(({ fault, pid }) => fault.startsWith("freeze") && pid === before.pid))
    return "its process was frozen";
  if (since.some(({ fault }) => fault === "kill stack")) return "its stack was killed";
  return "its end was not recorded in time";
}

/** One thing that must run: any of these versions, as a refused or unanswered change leaves open which. */
type Wanted = { id: string; versions: number[] };

/** What the producers' answers bind the system to. */
function obligationsOf({ asked, answered }: Story): {
  acknowledged: boolean;
  cancelled: boolean;
  wanted: Wanted[];
} {
  let wanted: Wanted[] = [];
  let acknowledged = false;
  let cancelled = false;
  for (const { version, change } of asked) {
    const answer = answered.find((one) => one.version === version);
    const last = wanted.at(-1);
    if (answer?.outcome === "created") {
      acknowledged = true;
      wanted.push({ id: answer.id, versions: [version] });
    } else if (answer?.outcome === "applied") {
      cancelled = change === "cancel";
      wanted = wanted.filter(({ id }) => id !== answer.id);
      if (!cancelled) wanted.push({ id: answer.id, versions: [version] });
    } else if (change === "cancel" && !answer) wanted.pop();
    else if (change !== "cancel") last?.versions.push(version);
  }
  return { acknowledged, cancelled, wanted };
}

function isMet({ ended, states }: Story, { id, versions }: Wanted): boolean {
  return (
    states.get(id) === "dead" ||
    ended.some((end) => end.id === id && end.how === "done" && versions.includes(end.version))
  );
}
