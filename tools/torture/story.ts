import type { Answered, Asked, Ended, Fault, LedgerEvent, Started } from "./ledger.ts";
import { UNTRACKED } from "./load.ts";

/** The events of one `n`, by their kind. */
export type Story = {
  readonly n: number;
  readonly asked: Asked[];
  readonly answered: Answered[];
  readonly started: Started[];
  readonly ended: Ended[];
  /** The last state of each job that the API answered, by the job's id. */
  readonly states: Map<string, string>;
};

export type Stories = {
  readonly stories: readonly Story[];
  readonly faults: readonly Fault[];
  readonly unexpected: readonly { readonly n: number; readonly what: string }[];
};

export function tellStories(events: readonly LedgerEvent[]): Stories {
  const stories = new Map<number, Story>();
  const faults: Fault[] = [];
  const unexpected: { n: number; what: string }[] = [];
  const storyOf = (n: number): Story => {
    const known = stories.get(n);
    if (known) return known;
    const story = { n, asked: [], answered: [], started: [], ended: [], states: new Map() };
    stories.set(n, story);
    return story;
  };
  for (const event of events) {
    if (event.event === "fault") faults.push(event);
    else if (event.event === "unexpected") unexpected.push(event);
    else if (event.event === "asked") storyOf(event.n).asked.push(event);
    else if (event.event === "answered") storyOf(event.n).answered.push(event);
    else if (event.event === "started") storyOf(event.n).started.push(event);
    else if (event.event === "ended") storyOf(event.n).ended.push(event);
    else storyOf(event.n).states.set(event.id, event.state);
  }
  return { stories: [...stories.values()], faults, unexpected };
}

/** Whether a job is untracked. P1 (from hand-off on), P4 and P5 hold for tracked jobs only. */
export function isUntracked({ asked }: Story): boolean {
  return asked[0]?.topic === UNTRACKED;
}

export function historyOf(events: readonly LedgerEvent[], n: number): LedgerEvent[] {
  return events.filter((event) => "n" in event && event.n === n);
}
