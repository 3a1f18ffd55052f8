import { LONGEST_LIST } from "../../src/core/constants.ts";
import type { CarriedAction, CarriedLine, Change, Which } from "../carried.ts";
import type { Asked } from "./bulk-calls.ts";
import { addresses } from "./parts/search.ts";
import { readShift, type Shift, shiftOf } from "./shift-words.ts";
import { isoAt, SECOND } from "./times.ts";

/** Says where the jobs of an action are now, and what undoes the action. */

/** How far the page's time of the queue may be from the queue's own, ms. */
const CLOCK_ERROR = 2 * SECOND;
const MOST_LINKS = 5;

/** The list of the jobs of which an action was to change some. */
export function listBefore({ change, lines }: CarriedAction): string {
  const labels = labelsOf(lines);
  if (change.action === "redrive" || change.action === "dismiss")
    return addresses.dead(labels.topic === undefined ? {} : { topic: labels.topic });
  const from = Math.min(...lines.map(({ which }) => Date.parse(which.from)));
  const to = Math.max(...lines.map(({ which }) => Date.parse(which.to)));
  return addresses.jobs({ ...labels, from: isoAt(from), to: isoAt(Math.min(to, from + LONGEST_LIST)) });
}

/** Addresses of lists with the jobs that an action has changed: one for each tag and group. A list may have other jobs too. */
export function listsAfter(
  action: CarriedAction,
): { readonly of: readonly Which[]; readonly href: string }[] {
  const lines = action.lines.filter(({ changed }) => changed > 0);
  const groups = [
    ...Map.groupBy(lines, ({ which: { tag, group } }) => JSON.stringify([tag, group])).values(),
  ];
  return groups.slice(0, MOST_LINKS).map((some) => ({
    of: some.map(({ which }) => which),
    href: addresses.jobs({ ...labelsOf(some), ...stateAfter(action.change), ...rangeAfter(action, some) }),
  }));
}

function labelsOf(lines: readonly CarriedLine[]): Pick<Partial<Which>, "topic" | "tag" | "group"> {
  const [first] = lines;
  if (first === undefined) return {};
  const { topic, tag, group } = first.which;
  const isOfOne = lines.every(({ which }) => which.topic === topic);
  return { ...(isOfOne && { topic }), ...(tag && { tag }), ...(group && { group }) };
}

function stateAfter({ action }: Change): { state?: string } {
  return action === "cancel" || action === "dismiss" ? { state: "cancelled" } : {};
}

/** The due times that the jobs of these lines have now. */
function rangeAfter(action: CarriedAction, lines: readonly CarriedLine[]): { from: string; to: string } {
  const [from, to] = timesAfter(action, lines);
  // A dead job was due before it died, so the end of the range says more.
  const begin = action.change.action === "dismiss" ? Math.max(from, to - LONGEST_LIST) : from;
  return { from: isoAt(begin), to: isoAt(Math.min(to, begin + LONGEST_LIST)) };
}

function timesAfter(action: CarriedAction, lines: readonly CarriedLine[]): [from: number, to: number] {
  const { change, startedAgo, endedAgo = 0 } = action;
  const from = Math.min(...lines.map(({ which }) => Date.parse(which.from)));
  const to = Math.max(...lines.map(endOf));
  const began = action.at === undefined ? Number.NaN : Date.parse(action.at);
  const ended = began + startedAgo - endedAgo + CLOCK_ERROR;
  if (change.shift !== undefined) {
    const { ms } = readShift(String(change.shift)) ?? { ms: 0 };
    // A job whose new time has passed is due at once.
    return [from + ms, from + ms < began ? Math.max(to + ms, ended) : to + ms];
  }
  if (change.action === "cancel" || change.action === "dismiss" || Number.isNaN(began)) return [from, to];
  const start = Math.max(Date.parse(String(change.dueAt)) || 0, began - CLOCK_ERROR);
  const { ratePerSecond } = change;
  const most = Math.max(...lines.map(({ changed }) => changed));
  const pace = ratePerSecond === undefined ? 0 : (most / ratePerSecond) * SECOND;
  return [start, Math.max(start + SECOND, ended) + pace];
}

/** The page's time may differ from the queue's, but by less than this, ms. */
const CLOCK_DOUBT = 10 * SECOND;

/** When an action changed its jobs, ms since the epoch. */
export function timesOf({ at, startedAgo, endedAgo = 0 }: CarriedAction): { from: number; to: number } {
  const began = Date.parse(at ?? "");
  return { from: began - CLOCK_DOUBT, to: began + startedAgo - endedAgo + CLOCK_DOUBT };
}

/** Until where a line has changed its jobs. */
function endOf({ which, reached, isDone }: CarriedLine): number {
  return Date.parse(isDone || reached === undefined ? which.to : reached);
}

export type ShiftBack = {
  readonly shift: Shift;
  /** `by`: how the timelines of its jobs name the shift. */
  readonly lines: readonly {
    readonly which: Asked & Pick<Which, "from" | "to">;
    readonly by: "bulk" | "caller";
  }[];
  /** How many jobs the action has shifted. */
  readonly moved: number;
};

/** The shift that undoes a shift. `undefined`: nothing undoes this action. */
export function shiftBackOf({ change: { shift }, lines }: CarriedAction): ShiftBack | undefined {
  const { ms } = readShift(String(shift ?? "")) ?? {};
  const shifted = lines.filter(({ changed }) => changed > 0);
  if (ms === undefined || shifted.length === 0) return undefined;
  return {
    shift: shiftOf(-ms),
    lines: shifted.map((line) => {
      const { jobs, from, ...which } = line.which;
      const range = { from: isoAt(Date.parse(from) + ms), to: isoAt(endOf(line) + ms) };
      return { which: { ...which, ...range }, by: jobs === undefined ? "bulk" : "caller" };
    }),
    moved: shifted.reduce((sum, { changed }) => sum + changed, 0),
  };
}

/** Whether a later action was the shift that undoes a shift. Once more, it would move the jobs too far. `all`: the newest first. */
export function isShiftedBack(action: CarriedAction, all: readonly CarriedAction[]): boolean {
  const back = shiftBackOf(action);
  const at = all.findIndex(({ id }) => id === action.id);
  return all.slice(0, Math.max(at, 0)).some(({ change, lines }) => {
    if (back === undefined || readShift(String(change.shift ?? ""))?.ms !== back.shift.ms) return false;
    return lines.every(({ which }) => back.lines.some((line) => isSame(line.which, which)));
  });
}

function isSame(one: Asked, other: Which): boolean {
  return (["topic", "tag", "group", "from", "to"] as const).every((name) => one[name] === other[name]);
}
