import { useRef, useState } from "preact/hooks";
import type { BulkResult } from "../../src/client/answers.ts";
import type { BulkRequest } from "../../src/client/options.ts";
import { MinutehandError, messageOf } from "../../src/core/errors.ts";
import { api } from "./api.ts";
import { withVisibleMarks } from "./direction.ts";
import type { Why } from "./parts/reason-field.tsx";

export const WORDS: Readonly<
  Record<BulkRequest["action"], { readonly asks: string; readonly done: string }>
> = {
  run: { asks: "Run now all waiting jobs", done: "brought forward" },
  move: { asks: "Move all waiting jobs", done: "moved" },
  cancel: { asks: "Cancel all waiting jobs", done: "cancelled" },
  redrive: { asks: "Redrive all dead jobs", done: "redriven" },
  dismiss: { asks: "Dismiss all dead jobs", done: "dismissed" },
};

export type Counting = {
  readonly counted: BulkResult | undefined;
  readonly isCounted: boolean;
  readonly changeable: number;
  readonly trouble: string | undefined;
  readonly count: () => Promise<void>;
  readonly stop: () => void;
};

export function useCount(request: BulkRequest): Counting {
  const [counted, setCounted] = useState<BulkResult | undefined>();
  const [trouble, setTrouble] = useState<string | undefined>();
  const counting = useRef<AbortController | undefined>(undefined);

  async function count(): Promise<void> {
    counting.current?.abort();
    const stop = new AbortController();
    counting.current = stop;
    setCounted(undefined);
    setTrouble(undefined);
    try {
      await api.bulk({ ...request, dryRun: true, signal: stop.signal }, setCounted);
    } catch (error) {
      if (!stop.signal.aborted) setTrouble(messageOf(error));
    }
  }

  const isCounted = counted !== undefined && counted.cursor === undefined;
  const changeable = counted ? counted.matched - skippedOf(counted) : 0;
  return { counted, isCounted, changeable, trouble, count, stop: () => counting.current?.abort() };
}

/** Changes the jobs that were counted. `cursor`: where a change that failed goes on. `sums`: what it has done so far. */
export function useChange(
  request: BulkRequest,
  counted: BulkResult | undefined,
  perSecond: number | undefined,
) {
  const [sums, setSums] = useState<BulkResult | undefined>();
  const [cursor, setCursor] = useState<string | undefined>();
  const [isRunning, setRunning] = useState(false);

  async function run(why: Why): Promise<string> {
    if (counted === undefined) throw new Error("the jobs have not been counted");
    const { from, to } = counted;
    const rate = perSecond === undefined ? {} : { ratePerSecond: perSecond };
    setRunning(true);
    try {
      // Change the range that was counted: a default range would be later by now.
      const whole = { ...request, from, to, ...rate, ...why };
      return doneText(request, await api.bulk(cursor === undefined ? whole : { ...whole, cursor }, setSums));
    } catch (error) {
      if (error instanceof MinutehandError && typeof error.data.cursor === "string")
        setCursor(error.data.cursor);
      throw error;
    } finally {
      setRunning(false);
    }
  }

  function forget(): void {
    setSums(undefined);
    setCursor(undefined);
  }

  return { run, forget, sums, cursor, isRunning };
}

function doneText(request: BulkRequest, done: BulkResult): string {
  const past = WORDS[request.action].done;
  const left = skippedOf(done);
  const skipped = left === 0 ? "" : ` ${left.toLocaleString("en")} were not changed: ${reasonsOf(done)}.`;
  return `${past.charAt(0).toUpperCase()}${past.slice(1)} ${jobsText(done.changed)} of ${selectionText(request)}.${skipped}`;
}

/** `work with the tag a and the group b` */
export function selectionText({ topic, tag, group }: BulkRequest): string {
  const labels = [...(tag ? [`the tag ${tag}`] : []), ...(group ? [`the group ${group}`] : [])];
  return labels.length === 0 ? topic : `${topic} with ${withVisibleMarks(labels.join(" and "))}`;
}

export function jobsText(count: number): string {
  return count === 1 ? "1 job" : `${count.toLocaleString("en")} jobs`;
}

function skippedOf({ skipped }: BulkResult): number {
  return Object.values(skipped).reduce((sum, count) => sum + count, 0);
}

function reasonsOf({ skipped }: BulkResult): string {
  return Object.entries(skipped)
    .map(([code, count]) => `${count.toLocaleString("en")} ${code}`)
    .join(", ");
}
