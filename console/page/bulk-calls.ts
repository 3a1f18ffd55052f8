import { useEffect, useRef, useState } from "preact/hooks";
import type { BulkResult } from "../../src/client/answers.ts";
import type { BulkRequest } from "../../src/client/options.ts";
import { messageOf } from "../../src/core/errors.ts";
import type { Change, Plan } from "../carried.ts";
import { api } from "./api.ts";
import { clock } from "./clock.ts";
import { isoAt } from "./times.ts";
import { countedByPass, countWaiting, lineName, rangeOfPass, type Waiting } from "./waiting-counts.ts";

/** Which jobs are counted. Without a range, the API has one by default. */
export type Asked = Pick<BulkRequest, "topic" | "tag" | "group"> & {
  readonly from?: string;
  readonly to?: string;
};

export type CountLine = {
  readonly asked: Asked;
  /** What is counted so far. Has a cursor while the count goes on. */
  readonly counted?: BulkResult;
  readonly trouble?: string;
  /** Whether the action is for the jobs of this line. */
  readonly isChosen: boolean;
};

/** So many lines are counted at a time. */
const AT_ONCE = 4;

/** Counts jobs line by line, and changes none. */
export function useCount({ reason: _, ratePerSecond: __, ...change }: Change) {
  const [lines, setLines] = useState<readonly CountLine[]>([]);
  const counting = useRef<AbortController | undefined>(undefined);
  // A dialog that disappears with its view, as after Back, is not closed first.
  useEffect(() => () => counting.current?.abort(), []);

  async function count(all: readonly Asked[]): Promise<void> {
    counting.current?.abort();
    const stop = new AbortController();
    counting.current = stop;
    const { signal } = stop;
    setLines(all.map((asked) => ({ asked, isChosen: true })));
    const note = (index: number, found: Partial<CountLine>) => {
      if (!signal.aborted) setLines((known) => withChanged(known, index, found));
    };
    const pass = rangeOfPass(change, all);
    const found = pass && (await countedAtOnce(change, all, pass, signal, note));
    const left = [...all.entries()];
    const countNext = async (): Promise<void> => {
      for (let next = left.shift(); next !== undefined && !signal.aborted; next = left.shift()) {
        const [index, asked] = next;
        const known = found?.get(lineName(asked));
        const counted = pass && found && countedByPass(change.action, known, pass);
        if (counted !== undefined) note(index, { counted });
        else await countLine(change, { ...asked, ...rangeIn(known) }, signal, (more) => note(index, more));
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, countNext));
  }

  return {
    lines,
    count,
    /** Chooses a line, or all of them. */
    choose: (isChosen: boolean, index?: number) =>
      setLines(lines.map((line, at) => (index === undefined || index === at ? { ...line, isChosen } : line))),
    stop: () => counting.current?.abort(),
  };
}

type Note = (index: number, found: Partial<CountLine>) => void;

/** `undefined`: the pass has failed, so each line is counted on its own, and says what is wrong. */
function countedAtOnce(
  { action }: Change,
  all: readonly Asked[],
  pass: NonNullable<ReturnType<typeof rangeOfPass>>,
  signal: AbortSignal,
  note: Note,
): Promise<ReadonlyMap<string, Waiting> | undefined> {
  const tell = (known: ReadonlyMap<string, Waiting>, reached: number) => {
    for (const [index, asked] of all.entries()) {
      const counted = countedByPass(action, known.get(lineName(asked)), pass);
      if (counted !== undefined) {
        const range = { from: isoAt(pass.from), to: isoAt(pass.to), reached: isoAt(reached) };
        note(index, { counted: { ...counted, ...range, cursor: "more" } });
      }
    }
  };
  return countWaiting(pass, all, signal, tell).catch(() => undefined);
}

function rangeIn(known: Waiting | undefined): { from?: string; to?: string } {
  return known === undefined ? {} : { from: isoAt(known.from), to: isoAt(known.to) };
}

async function countLine(
  change: Change,
  asked: Asked,
  signal: AbortSignal,
  note: (found: Partial<CountLine>) => void,
): Promise<void> {
  try {
    const request = { ...change, ...asked, dryRun: true, signal } as BulkRequest;
    await api.bulk(request, (counted) => note({ counted }));
  } catch (error) {
    note({ trouble: messageOf(error) });
  }
}

function withChanged(lines: readonly CountLine[], index: number, changed: Partial<CountLine>): CountLine[] {
  return lines.map((line, at) => (at === index ? { ...line, ...changed } : line));
}

export function isCounted({ counted }: CountLine): boolean {
  return counted !== undefined && counted.cursor === undefined;
}

/** How many jobs of a line the action can change. */
export function changeableOf({ counted }: CountLine): number {
  return counted === undefined ? 0 : counted.matched - skippedIn(counted);
}

/** The lines whose jobs the action will change. Lines that are not counted yet are among them. */
export function chosenLines(lines: readonly CountLine[]): CountLine[] {
  return lines.filter((line) => line.isChosen && (!isCounted(line) || changeableOf(line) > 0));
}

export function changeableIn(lines: readonly CountLine[]): number {
  return lines.reduce((all, line) => all + (line.isChosen ? changeableOf(line) : 0), 0);
}

/** The plan for the counted jobs. It has the counted ranges: a default range would be later by now. */
export function planOf(change: Change, lines: readonly CountLine[]): Plan {
  return {
    ...{ change, at: isoAt(clock()) },
    lines: lines.flatMap((line) => {
      const jobs = changeableOf(line);
      if (line.counted === undefined || !line.isChosen || jobs === 0) return [];
      const { from, to } = line.counted;
      return [{ which: { ...line.asked, from, to }, counted: jobs }];
    }),
  };
}

/** `12 jobs`, or `1,000 or more jobs` if not all were counted. */
export function jobsText(count: number, atLeast = false): string {
  if (atLeast) return `${count.toLocaleString("en")} or more jobs`;
  return count === 1 ? "1 job" : `${count.toLocaleString("en")} jobs`;
}

/** How many jobs were not changed. */
export function skippedIn({ skipped }: Pick<BulkResult, "skipped">): number {
  return Object.values(skipped).reduce((sum, count) => sum + count, 0);
}
