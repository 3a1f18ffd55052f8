import type { Call } from "./network.ts";

/** Calls are counted by the caller's role, because the many calls of ticks would hide the cost of the others. */
const ROLES = ["api", "producer", "consumer", "tick"] as const;

/** The kind under which a call is counted: the caller's role, and the service. Calls to DLQs are counted separately. */
export function kindOf({ machine, service, input }: Call): string {
  const role = ROLES.find((name) => machine.name.startsWith(name)) ?? "nobody";
  if (service === "dynamodb") return `${role} pool`;
  if (service === "lambda") return `${role} event source`;
  if (service === "scheduler") return `${role} schedules`;
  return `${role} ${"QueueUrl" in input && String(input.QueueUrl).endsWith("_dlq") ? "DLQ" : "queue"}`;
}

export type Done = {
  calls: ReadonlyMap<string, number>;
  ticks: number;
  shards: number;
  /** The most letters that each tracked topic's DLQ has had. */
  letters: readonly number[];
  /** Users' and pullers' calls of the API and of the client. A redrive counts as several. */
  requests: number;
  allowance: number;
  /** Invocations of consumers, the jobs in their messages (each time that a message came), and the runs of jobs. */
  invocations: number;
  deliveries: number;
  runs: number;
  /** How often SQS refused a message for good, because of its text. */
  refusals: number;
  /** Writes of callers whose condition failed, because another caller was faster. */
  lostRaces: number;
  revisions: number;
  messages: number;
  parked: number;
  held: number;
  /** Topics whose limit or pause each tick must read. */
  tendedTopics: number;
};

export type Counts = Pick<
  Done,
  "requests" | "allowance" | "invocations" | "deliveries" | "refusals" | "lostRaces"
>;

const KEPT: ReadonlySet<string> = new Set(["shards", "tendedTopics"]);

export function since(before: Done, after: Done): Done {
  const calls = [...after.calls].map(
    ([kind, count]) => [kind, count - (before.calls.get(kind) ?? 0)] as const,
  );
  const counts = Object.entries(after).map(([name, count]) => {
    const isKept = typeof count !== "number" || KEPT.has(name);
    return [name, isKept ? count : count - Number(before[name as keyof Done])];
  });
  return { ...Object.fromEntries(counts), calls: new Map(calls) } as Done;
}

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
      // Each tick: the number of shards, limited and paused topics, pauses; for each shard two positions, minutes of sweep and audit, jobs
      // of looks; then jobs of dead letters, parked jobs. A release: look, home, start, note.
      most: ticked * (4 + 10 * shards + batchesOf(letters) + tendedTopics * shards) + 4 * parked,
    },
    {
      what: "requests of ticks to DLQs",
      spent: spent("tick DLQ"),
      // The depth of each. Ten letters: a receive, a delete, and a change of visibility for those that stay. Then a last, empty receive.
      most: ticked * (letters.length + 3 * batchesOf(letters) + letters.filter((count) => count > 0).length),
    },
    {
      what: "requests of callers to the pool",
      spent: spent("api pool", "producer pool"),
      // A refusal: a look. A lost race: key, job, a look. A parked job: a list, a note, a look, the home, the note's delete.
      most: allowance + refusals + 4 * lostRaces + 5 * parked,
    },
    { what: "requests of callers to SQS", spent: spent("api queue", "producer queue"), most: 2 * requests },
    {
      what: "requests of consumers to the pool",
      spent: spent("consumer pool"),
      // An invocation: pause and claims. A job that does not run: its home before and after, and a try to end it. The end of a run: home,
      // look or dead entry, the home's write, start or key. A wait: start and note; in a full second also counters, another second, another
      // note.
      most: 2 * invocations + 3 * (deliveries - runs) + 4 * runs + refusals + 3 * parked + 3 * held,
    },
    { what: "messages", spent: messages, most: 2 * revisions + 2 },
  ];
}

/** Describes a line of the budget that was exceeded, if there is one. Lines that name one of `excused` do not count. */
export function beyondBudget(done: Done, excused: readonly string[] = []): string | undefined {
  const line = linesOf(done).find(
    ({ what, spent, most }) => spent > most && !excused.some((who) => what.includes(who)),
  );
  return (
    line &&
    `${line.spent} ${line.what}, at most ${line.most} are allowed: ${JSON.stringify({ ...done, calls: [...done.calls] })}`
  );
}
