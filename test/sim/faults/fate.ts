import { TransactionCanceledException } from "@aws-sdk/client-dynamodb";
import type { Draws } from "../draws.ts";
import type { Call } from "../network.ts";
import { problem } from "../services/service.ts";

/** What happens to one try of a call. Times are ms. */
export type Fate = {
  /** How long the request and the answer take. Infinite: lost. If the request outlasts its signature, it has no effect. */
  request: number;
  answer: number;
  /** The caller dies before the request is sent, while the request is on its way, or after it took effect. */
  crash?: "before" | "under way" | "after";
  freeze: number;
  /** The service answers with this error, without an effect (`refusal`) or after the effect (`refusalAfter`). */
  refusal?: Error | undefined;
  refusalAfter?: Error;
  /** The code with which one entry of a batch fails, if it fails. `item`, `pk`: the keys that it reads or writes. */
  entryFails(draws: Draws, item?: string, pk?: string): string | undefined;
};

export const CALL_FAULTS = [
  "crash",
  "lost-answer",
  "slow-request",
  "freeze",
  "server-error",
  "throttled",
  "conflict",
  "entry",
] as const;
export type CallFault = (typeof CALL_FAULTS)[number];

/** The longest time that a request without a fault takes, and also the longest that its answer takes. ms. */
export const ON_ITS_WAY = 8;
const HOUR = 60 * 60_000;

export type Try = { fate: Fate; call: Call; own: Draws; now: number };

export function usualFate(own: Draws): Fate {
  return {
    request: own.whole(1, ON_ITS_WAY),
    answer: own.whole(1, ON_ITS_WAY),
    freeze: 0,
    entryFails: () => undefined,
  };
}

export function throttled(): Error {
  return problem("ProvisionedThroughputExceededException", "simulated");
}

export function strike(fault: CallFault, { fate, call, own }: Omit<Try, "now">): void {
  switch (fault) {
    case "crash":
      fate.crash = own.chance(0.5) ? "before" : "after";
      break;
    case "lost-answer":
      fate.answer = Number.POSITIVE_INFINITY;
      break;
    case "slow-request":
      // Some requests take longer than their signature is valid, and never take effect.
      fate.request = own.next() * own.pick([4000, 60_000, 360_000]);
      break;
    case "freeze":
      // A user's own process may freeze for an hour, and a function for as long as it lives.
      fate.freeze =
        own.next() *
        own.pick(call.machine.name.startsWith("producer") ? [5000, HOUR, HOUR] : [5000, 29_000, 170_000]);
      break;
    case "server-error":
      fate[own.chance(0.5) ? "refusal" : "refusalAfter"] = problem("InternalServerError", "simulated", 500);
      break;
    case "throttled":
      fate.refusal = throttled();
      break;
    case "conflict":
      fate.refusal = conflict(call);
      break;
    case "entry":
      fate.entryFails = (draws) =>
        draws.chance(0.5)
          ? draws.pick(
              call.service === "sqs"
                ? ["InternalError"]
                : ["ThrottlingError", "TransactionConflict", "InternalServerError"],
            )
          : undefined;
      break;
  }
}

function conflict({ operation, input }: Call): Error | undefined {
  if (operation === "TransactWriteItems") {
    const { TransactItems } = input as { TransactItems: unknown[] };
    return new TransactionCanceledException({
      message: "simulated",
      $metadata: { httpStatusCode: 400 },
      CancellationReasons: TransactItems.map((_, i) => ({ Code: i === 0 ? "TransactionConflict" : "None" })),
    });
  }
  if (["PutItem", "UpdateItem", "DeleteItem"].includes(operation))
    return problem("TransactionConflictException", "simulated");
  return undefined;
}
