import { CLOCK_MARGIN } from "../../src/core/constants.ts";
import type { Ended, Fault, Started } from "./ledger.ts";
import type { Story } from "./story.ts";

export const VIOLATIONS = [
  "lost",
  "early",
  "ran after its cancel or change",
  "ran twice in one attempt",
  "ran again under a live lease",
  "two jobs of one request",
  "not settled",
  "unexpected answer",
  "never answered",
] as const;
export type ViolationKind = (typeof VIOLATIONS)[number];

export type Accuse = (kind: ViolationKind, why: string) => void;

/** Why a job ran again although its run had not failed. */
export const CAUSES = [
  "its process was killed",
  "its process was frozen",
  "its stack was killed",
  "its end was not recorded in time",
] as const;
export type Cause = (typeof CAUSES)[number];

/** States that a job leaves only if somebody asks for it. */
export const FINAL: ReadonlySet<string> = new Set(["done", "cancelled", "dead", "expired"]);

/** A job that must run, in any of these versions: after a refused or unanswered change more than one is allowed. */
export type Wanted = { readonly id: string; readonly versions: number[] };

export type Obligations = {
  readonly acknowledged: boolean;
  readonly cancelled: string | undefined;
  readonly wanted: readonly Wanted[];
};

export function obligationsOf({ asked, answered }: Story): Obligations {
  let wanted: Wanted[] = [];
  let acknowledged = false;
  let cancelled: string | undefined;
  for (const { version, change } of asked) {
    const answer = answered.find((one) => one.version === version);
    if (answer?.outcome === "created") {
      acknowledged = true;
      wanted.push({ id: answer.id, versions: [version] });
    } else if (answer?.outcome === "applied") {
      wanted = wanted.filter(({ id }) => id !== answer.id);
      if (change === "cancel") cancelled = answer.id;
      else wanted.push({ id: answer.id, versions: [version] });
    } else if (change !== "cancel") wanted.at(-1)?.versions.push(version);
    else if (!answer) wanted.pop();
  }
  return { acknowledged, cancelled, wanted };
}

/** Promise P1: the job ran to its end, or is recorded as dead. A job whose end was not recorded may run again. */
export function isMet({ ended, states }: Story, { id, versions }: Wanted): boolean {
  return (
    states.get(id) === "dead" ||
    ended.some((end) => end.id === id && end.how === "done" && versions.includes(end.version))
  );
}

/** Accuses a job whose state at the end contradicts what was acknowledged, or is not final. */
export function findUnsettled({ states }: Story, { cancelled }: Obligations, accuse: Accuse): void {
  for (const [id, state] of states) {
    if (!FINAL.has(state)) accuse("not settled", `job ${id} is ${state} at the end`);
    else if (id === cancelled && state !== "cancelled")
      accuse("not settled", `job ${id} is ${state} though its cancel was acknowledged`);
  }
}

/** Accuses a request without an answer: long after the faults, each repeated request must have one. */
export function findUnanswered({ asked, answered }: Story, accuse: Accuse): void {
  for (const { version, change } of asked)
    if (!answered.some((one) => one.version === version))
      accuse("never answered", `the outcome of the ${change} of version ${version} is unknown`);
}

/** Accuses a request that created two jobs: its repeats have the same `Idempotency-Key`. */
export function findTwins({ started }: Story, accuse: Accuse): void {
  for (const [version, runs] of Map.groupBy(started, (run) => run.version)) {
    const ids = new Set(runs.map(({ id }) => id));
    if (ids.size > 1)
      accuse("two jobs of one request", `version ${version} ran as ${[...ids].join(" and ")}`);
  }
}

/** Promise P2: accuses a run that started early. Answers how late first runs started, in ms. */
export function findEarly({ asked, started }: Story, accuse: Accuse): number[] {
  const late: number[] = [];
  for (const run of started) {
    // The time of the request counts too, in case the system has changed it.
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

/** Promise P4: accuses a run of an older version that started after a change was acknowledged. */
export function findVoid({ answered, started }: Story, accuse: Accuse): void {
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

/** Promise P5: accuses second runs of one attempt, and runs under a live lease. Answers the cause of each other repeated run. */
export function findRepeats({ started, ended }: Story, faults: readonly Fault[], accuse: Accuse): Cause[] {
  const causes: Cause[] = [];
  for (const runs of Map.groupBy(started, ({ id, version }) => `${id} ${version}`).values()) {
    const seen = new Set<string>();
    let before: Started | undefined;
    for (const run of runs.sort((a, b) => a.at - b.at)) {
      const name = `${run.attempt} ${run.dueAt}`;
      if (seen.has(name)) accuse("ran twice in one attempt", `attempt ${run.attempt} started again`);
      else if (before && !hasFailed(before, run.at, ended)) {
        // A run counts as crashed `CLOCK_MARGIN` after the end of its lease. An unknown end is later than the start of the run.
        const over = (before.leaseUntil ?? before.at) + CLOCK_MARGIN;
        if (run.at >= over) causes.push(causeOf(before, run, faults));
        else
          accuse(
            "ran again under a live lease",
            `${over - run.at} ms before the earlier run could count as crashed`,
          );
      }
      seen.add(name);
      before = run;
    }
  }
  return causes;
}

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
