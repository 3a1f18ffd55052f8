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
  trackedTopics: number;
  /** Users' and pullers' calls of the API and of the client; a redrive is several. */
  requests: number;
  /** Of consumers, and what they ran. */
  invocations: number;
  runs: number;
  /** Revisions that jobs had, and messages that carried one. */
  revisions: number;
  messages: number;
  /** Jobs that a pause had parked. */
  parked: number;
};

type Line = { what: string; spent: number; most: number };

/** What growth may cost (P6), in requests; docs/reliability.md states it. */
function linesOf(done: Done): Line[] {
  const { calls, ticks, shards, trackedTopics, requests, invocations, runs, revisions, messages, parked } =
    done;
  const spent = (...kinds: string[]) => kinds.reduce((sum, kind) => sum + (calls.get(kind) ?? 0), 0);
  // The first tick reads the ten minutes before it.
  const ticked = ticks + 2;
  return [
    {
      what: "requests of ticks to the pool",
      spent: spent("tick pool"),
      most: ticked * (1 + 10 * shards + trackedTopics),
    },
    { what: "requests of ticks to DLQs", spent: spent("tick DLQ"), most: ticked * trackedTopics * 5 },
    {
      what: "requests of callers to the pool",
      spent: spent("api pool", "producer pool"),
      most: 5 * requests + 3 * parked,
    },
    { what: "requests of callers to SQS", spent: spent("api queue", "producer queue"), most: 2 * requests },
    {
      what: "requests of consumers to the pool",
      spent: spent("consumer pool"),
      // An invocation looks at its topic's pause, and at homes whose claim was refused.
      most: 2 * invocations + 3 * runs + 3 * parked + 20,
    },
    { what: "messages", spent: messages, most: 2 * revisions + 2 },
  ];
}

/** What was spent beyond the budget, in words. */
export function beyondBudget(done: Done): string | undefined {
  const line = linesOf(done).find(({ spent, most }) => spent > most);
  return (
    line &&
    `${line.spent} ${line.what}, at most ${line.most} are allowed: ${JSON.stringify({ ...done, calls: [...done.calls] })}`
  );
}
