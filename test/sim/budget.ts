import type { Call } from "./network.ts";

/** Who calls: a tick's calls are many, and would hide what the others' cost. */
const ROLES = ["api", "producer", "consumer", "tick"] as const;

/** What is counted of a call: whose it is, and of which service; DLQs apart. */
export function kindOf({ machine, service, input }: Call): string {
  const role = ROLES.find((name) => machine.name.startsWith(name)) ?? "nobody";
  if (service === "dynamodb") return `${role} pool`;
  if (service === "lambda") return `${role} event source`;
  if (service === "scheduler") return `${role} schedules`;
  return `${role} ${"QueueUrl" in input && String(input.QueueUrl).endsWith("_dlq") ? "DLQ" : "queue"}`;
}

/** What a history without faults did. */
export type Done = {
  /** Requests by kind. */
  calls: ReadonlyMap<string, number>;
  ticks: number;
  shards: number;
  /** Letters that each tracked topic's DLQ has had at most. */
  letters: readonly number[];
  /** Users' and pullers' calls of the API and of the client; a redrive is several. */
  requests: number;
  /** What these calls may ask of the pool, by their kinds (allowance.ts). */
  allowance: number;
  /** Of consumers; the jobs that their messages brought, again or not; and those that they ran. */
  invocations: number;
  deliveries: number;
  runs: number;
  /** Messages that SQS took for no text that it knows. */
  refusals: number;
  /** Writes of callers whose condition did not hold, as another caller was faster. */
  lostRaces: number;
  /** Revisions that jobs had, and messages that carried one. */
  revisions: number;
  messages: number;
  /** Jobs that a pause or a limit had parked, and starts of others that their limit made later. */
  parked: number;
  held: number;
  /** Limits and pauses that ticks look after. */
  tendedTopics: number;
};

/** What was done between two moments. */
export function since(before: Done, after: Done): Done {
  const calls = new Map(
    [...after.calls].map(([kind, count]) => [kind, count - (before.calls.get(kind) ?? 0)]),
  );
  return {
    ...after,
    calls,
    ticks: after.ticks - before.ticks,
    requests: after.requests - before.requests,
    allowance: after.allowance - before.allowance,
    invocations: after.invocations - before.invocations,
    deliveries: after.deliveries - before.deliveries,
    runs: after.runs - before.runs,
    refusals: after.refusals - before.refusals,
    lostRaces: after.lostRaces - before.lostRaces,
    revisions: after.revisions - before.revisions,
    messages: after.messages - before.messages,
    parked: after.parked - before.parked,
    held: after.held - before.held,
  };
}

/** How often letters are received, ten at a time. */
function batchesOf(letters: readonly number[]): number {
  return letters.reduce((sum, count) => sum + Math.ceil(count / 10), 0);
}

type Line = { what: string; spent: number; most: number };

/** What growth may cost (P6), in requests; docs/internals/reliability.md states it. */
function linesOf(done: Done): Line[] {
  const { calls, ticks, shards, letters, tendedTopics, requests, allowance, refusals, lostRaces, parked } =
    done;
  const { invocations, deliveries, runs, revisions, messages, held } = done;
  const spent = (...kinds: string[]) => kinds.reduce((sum, kind) => sum + (calls.get(kind) ?? 0), 0);
  // The first sweep and the first audit read the ten minutes before the first tick: as much as three ticks do.
  const ticked = ticks + 3;
  return [
    {
      what: "requests of ticks to the pool",
      spent: spent("tick pool"),
      // The number of shards, topics with limits, paused ones, and their pauses; of a shard two cursors, read and written, the
      // minutes that have come up for the sweep and for the audit, and the jobs of looks; jobs of dead letters; what is parked.
      // A parked job that is let go: its look, its home, its start, and the note that goes.
      most: ticked * (4 + 10 * shards + batchesOf(letters) + tendedTopics * shards) + 4 * parked,
    },
    {
      what: "requests of ticks to DLQs",
      spent: spent("tick DLQ"),
      // Each DLQ's depth; of ten letters the letters, those that go, and those that stay; that there are no more.
      most: ticked * (letters.length + 3 * batchesOf(letters) + letters.filter((count) => count > 0).length),
    },
    {
      what: "requests of callers to the pool",
      spent: spent("api pool", "producer pool"),
      // What SQS refuses gets a look. Who loses a race reads key and job again, and files another look before the next try. A
      // parked job has its topic listed, and a note, which goes when the caller lets the job go with a look and its home.
      most: allowance + refusals + 4 * lostRaces + 5 * parked,
    },
    { what: "requests of callers to SQS", spent: spent("api queue", "producer queue"), most: 2 * requests },
    {
      what: "requests of consumers to the pool",
      spent: spent("consumer pool"),
      // An invocation looks at its topic's pause and claims. Of what it does not run it reads the home; if that is late for
      // its topic, it has been read before, and tried to end; if another revision waits, that gets a start, and notes it.
      // A run's end reads the home, files a look or a dead entry, writes the home, and takes a start or lets the key go. Where the
      // second of that start is full, the others are read, one is taken, and it is noted.
      most: 2 * invocations + 3 * (deliveries - runs) + 4 * runs + refusals + 3 * parked + 3 * held,
    },
    { what: "messages", spent: messages, most: 2 * revisions + 2 },
  ];
}

/** What was spent beyond the budget, in words; by all but those who are `excused`. */
export function beyondBudget(done: Done, excused: readonly string[] = []): string | undefined {
  const line = linesOf(done).find(
    ({ what, spent, most }) => spent > most && !excused.some((who) => what.includes(who)),
  );
  return (
    line &&
    `${line.spent} ${line.what}, at most ${line.most} are allowed: ${JSON.stringify({ ...done, calls: [...done.calls] })}`
  );
}
