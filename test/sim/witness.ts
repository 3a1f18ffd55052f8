import type { Home } from "../../src/core/home.ts";
import type { Answer } from "./platform.ts";
import type { Request } from "./requests.ts";
import type { Row } from "./services/expressions.ts";
import type { Court, Run, Told, Violation } from "./witness/bench.ts";
import type { Sent } from "./witness/hand-overs.ts";
import { type Judges, judgesOf, type Settings } from "./witness/judges.ts";
import { tellWrite } from "./witness/writes.ts";

export type Witness = ReturnType<typeof witnessOf>;

/** Sees every write, run and answer from outside, and believes the code under test only its answers. `skew`: ms that a clock may be off. */
// long: the list of what the witness is told, and which judges hear it
export function witnessOf({
  clock,
  skew,
  onViolation,
  ...settings
}: Settings & Pick<Court, "clock" | "skew"> & { onViolation: (violation: Violation) => void }) {
  const violate: Court["violate"] = (promise, id, text) => onViolation({ promise, id, text, time: clock() });
  const judges = judgesOf({ clock, skew, violate }, settings);
  const { jobs, pauses, limits, recurring, repeats, tombstones, bulks, erases } = judges;
  const { cancels, deadLetters, grants, attempts, runTimes, surplus, work } = judges;
  return {
    ...{ pauses, limits, recurring, repeats, tombstones, bulks, erases },
    lateness: runTimes.lateness,
    /** A caller sends this call now. Answers a callback for its answer, if one comes. */
    asked(request: Request): (answer: Answer | undefined) => void {
      const answered = [judges.actors.asked(request)];
      if (request.kind === "file") answered.push(judges.filings.asked(request));
      return (answer) => {
        for (const tell of answered) tell(answer);
      };
    },
    written: (before: Row | undefined, after: Row | undefined): void => tellWrite(judges, before, after),
    /** An answer promises that the job will run as it says. `request`: an `Idempotency-Key`, whose calls must all name one job. */
    acknowledged(told: Told, request: string | undefined): void {
      grants.acknowledged(told);
      if (told.outcome === "kept" || told.outcome === "replayed") surplus.found(told.id);
      if (request !== undefined) repeats.answered(told, request);
    },
    granted: grants.granted,
    moved(told: Told): void {
      attempts.moved(told);
      grants.moved(told);
    },
    cancelAsked: cancels.asked,
    cancelled: ({ id }: Pick<Told, "id">): void => cancels.acknowledged(id),
    handedOff: (sent: Sent): void => tellSent(judges, sent, settings.untracked),
    sent: work.all,
    lettersTo: deadLetters.lettersTo,
    enveloped: deadLetters.enveloped,
    destroyed: deadLetters.destroyed,
    repeated: surplus.tickRepeated,
    running: judges.overlaps.running,
    started(run: Run, now: number): void {
      pauses.started(run.topic);
      runTimes.started(run, now);
      work.started(run.topic);
      for (const judge of [attempts, erases]) judge.started(run);
    },
    startedAt: runTimes.startedAt,
    freeAt: runTimes.freeAt,
    topicOf: (id: string): string => jobs.homeOf(id)?.topic ?? "",
    dueAt: (id: string): number => jobs.of(id).home?.dueAt ?? 0,
    called: judges.webhookIds.called,
    ended: attempts.ended,
    overspent: (text: string): void => violate("P6", "", text),
    punctual: (id: string, text: string): void => violate("P3", id, text),
    /** Something happened that no fault excuses. */
    defect: (text: string): void => violate("defect", "", text),
    rubbish: (id: string, pk: string): void => violate("rubbish", id, `${pk} stays for ever`),
    count: () => jobs.ids.size,
    unfinished: judges.ends.unfinished,
    /** Called long after all faults: reports promises that were not kept. */
    judge(mayLose: boolean, lies: (dead: Home) => boolean): void {
      recurring.judge();
      surplus.judge();
      runTimes.judge();
      judges.ends.judge(mayLose, lies);
    },
  };
}

function tellSent(
  { surplus, handOvers, recurring, work }: Judges,
  sent: Sent,
  untracked: ReadonlySet<string>,
): void {
  for (const job of sent.carried) {
    if (sent.isAnswered) surplus.sent(job);
    handOvers.judgeWindow(job, sent);
    // An untracked job that is due soon is never stored, so only its message shows that it was filed.
    recurring.created(job.id, JSON.stringify(job.body), !untracked.has(sent.topic));
    handOvers.noteStart(job);
  }
  work.sent(sent.carried.length);
  handOvers.judgeStarts(sent);
}
