import type { CarriedAction, CarriedLine, Change, Which } from "../carried.ts";
import { jobsText, skippedIn } from "./bulk-calls.ts";
import { withVisibleMarks } from "./direction.ts";
import { MOST_SHIFTED, readShift, shiftText } from "./shift-words.ts";

type Words = {
  readonly asks: string;
  readonly doing: string;
  readonly done: string;
  /** Says before the action whether anything undoes it. */
  readonly undo: string;
};

const WORDS: Readonly<Record<Change["action"] | "shift", Words>> = {
  run: {
    ...{ asks: "Run now all waiting jobs", doing: "Bringing forward", done: "Brought forward" },
    undo: "This cannot be undone: the times that the jobs have now are not kept.",
  },
  move: {
    ...{ asks: "Move all waiting jobs", doing: "Moving", done: "Moved" },
    undo: "This cannot be undone: the times that the jobs have now are not kept. Use “Shift all” if you may need to move them back.",
  },
  shift: {
    ...{ asks: "Shift all waiting jobs", doing: "Shifting", done: "Shifted" },
    undo: `You can shift the jobs back afterwards, except those that have started or were moved since, or that become due at once. Up to ${MOST_SHIFTED.toLocaleString("en")} jobs, no other job moves then. Of a larger shift, “Shift back” moves all jobs that wait in the shifted range.`,
  },
  cancel: {
    ...{ asks: "Cancel all waiting jobs", doing: "Cancelling", done: "Cancelled" },
    undo: "This cannot be undone: a cancelled job cannot be brought back.",
  },
  redrive: {
    ...{ asks: "Redrive all dead jobs", doing: "Redriving", done: "Redriven" },
    undo: "This cannot be undone. A redriven job that has not started can still be cancelled.",
  },
  dismiss: {
    ...{ asks: "Dismiss all dead jobs", doing: "Dismissing", done: "Dismissed" },
    undo: "This cannot be undone: a dismissed job cannot be brought back.",
  },
};

export function wordsOf({ action, shift }: Change): Words {
  return WORDS[shift === undefined ? action : "shift"];
}

/** `work with the tag a and the group b`, or `3 topics with 2 tags`. */
export function selectionText(lines: readonly Pick<Which, "topic" | "tag" | "group">[]): string {
  const named = (kind: "topic" | "tag" | "group") => [
    ...new Set(lines.flatMap((line) => (line[kind] ? [line[kind]] : []))),
  ];
  const labels = (["tag", "group"] as const).flatMap((kind) => {
    const [first, ...others] = named(kind);
    if (first === undefined) return [];
    return [others.length === 0 ? `the ${kind} ${withVisibleMarks(first)}` : `${others.length + 1} ${kind}s`];
  });
  const [topic = "no topic", ...others] = named("topic");
  const topics = others.length === 0 ? topic : `${others.length + 1} topics`;
  return labels.length === 0 ? topics : `${topics} with ${labels.join(" and ")}`;
}

/** Says what an action has done so far, or at its end. */
export function progressText(action: CarriedAction): string {
  const { change, lines, state } = action;
  const { doing, done } = wordsOf(change);
  const [changed, counted] = [sum(lines, changedOf), sum(lines, countedOf)];
  const jobs = `${changed.toLocaleString("en")} of ${jobsText(counted)}`;
  const whose = selectionText(lines.map(({ which }) => which));
  if (state === "running" || state === "stopping") return `${doing} ${jobs} of ${whose}`;
  if (state !== "done") return `${done} ${jobs} of ${whose}`;
  const all = changed === counted ? jobsText(changed) : jobs;
  return `${done} ${all} of ${whose}${byText(change)}.${skippedText(lines)}${goneText(action)}`;
}

const changedOf = ({ changed }: CarriedLine) => changed;
const countedOf = ({ counted }: CarriedLine) => counted;

/** How many of the counted jobs an action has come to: from 0 to 1. */
export function shareOf(lines: readonly CarriedLine[]): number {
  const seen = sum(lines, (line) =>
    line.isDone ? line.counted : Math.min(line.changed + skippedIn(line), line.counted),
  );
  return seen / Math.max(sum(lines, countedOf), 1);
}

function byText({ shift }: Change): string {
  const { ms } = readShift(String(shift ?? "")) ?? {};
  return ms === undefined ? "" : `, ${shiftText(ms)}`;
}

/** How many of the counted jobs the action did not meet. A job may start or end between the count and the change. */
export function goneIn({ lines, state }: CarriedAction): number {
  if (state !== "done") return 0;
  return sum(lines, (line) => Math.max(line.counted - line.changed - skippedIn(line), 0));
}

function goneText(action: CarriedAction): string {
  const jobs = goneIn(action);
  if (jobs === 0) return "";
  const had = jobs === 1 ? "1 job had" : `${count(jobs)} jobs had`;
  return ` ${had} ${isOfDead(action) ? "been redriven or dismissed before" : "started, ended or moved since the count"}.`;
}

export function isOfDead({ change: { action } }: Pick<CarriedAction, "change">): boolean {
  return action === "redrive" || action === "dismiss";
}

function skippedText(lines: readonly CarriedLine[]): string {
  const skipped = lines.flatMap((line) => Object.entries(line.skipped));
  if (skipped.length === 0) return "";
  const byCode = Map.groupBy(skipped, ([code]) => code);
  const reasons = [...byCode].map(([code, some]) => `${count(sum(some, ([, jobs]) => jobs))} ${code}`);
  const all = sum(skipped, ([, jobs]) => jobs);
  return ` ${count(all)} ${all === 1 ? "was" : "were"} left: ${reasons.join(", ")}.`;
}

function count(jobs: number): string {
  return jobs.toLocaleString("en");
}

function sum<Entry>(entries: readonly Entry[], of: (entry: Entry) => number): number {
  return entries.reduce((all, entry) => all + of(entry), 0);
}
