import { BATCH_PATIENCE } from "../../../src/core/constants.ts";
import { type Draws, drawsOf } from "../draws.ts";
import type { Call } from "../network.ts";
import { type CallFault, strike, type Try } from "./fate.ts";
import type { Lot } from "./lot.ts";

export const ROLES = ["api", "producer", "consumer", "tick"] as const;
export type Role = (typeof ROLES)[number] | "event";
/** `call`: which call of this operation it strikes, counted from 0 over all machines of the role. */
export type OneFault = { fault: CallFault | "hot-job"; role: Role; operation: string; call: number };
/** `hot-job`: DynamoDB throttles the claims of one job for a while, and not those of the other jobs of its batch. */
const LONE_FAULTS = [
  "crash",
  "crash",
  "crash",
  "lost-answer",
  "throttled",
  "conflict",
  "entry",
  "hot-job",
] as const;

/** A job may be this late without any fault: SQS delays by whole seconds, and a puller takes its time. */
export const ON_TIME = 2000;
/** How late one call without an answer can make a job: until it is repeated, or until a lost receive's messages are visible. */
const REPEATED = 65_000;
const HEAT = 30_000;
/** Jobs of the same batch wait until the batch gives up its throttled claim, which can happen twice. */
const BESIDE_HOT = ON_TIME + 2 * BATCH_PATIENCE;
/** A moved job has several messages, so a puller of few jobs may get the hot job with each receive until its claims work. */
const BESIDE_HOT_PULLED = ON_TIME + HEAT;
/** Within this time the audit reads a job whose message was never sent. */
const AUDITED = 16 * 60_000;
/** How late one fault may make a job. Ticks work ahead. If another process dies between any job's write and send, the audit sends it. */
function boundOf({ fault, role }: OneFault): number {
  if (role === "tick") return ON_TIME;
  return fault === "crash" ? AUDITED : REPEATED;
}

export function drawOneFault(draws: Draws, roles: readonly Role[]): OneFault {
  return {
    fault: draws.pick(LONE_FAULTS),
    role: draws.pick(roles),
    operation: draws.pick([
      "UpdateItem",
      "PutItem",
      "DeleteItem",
      "BatchExecuteStatement",
      "TransactWriteItems",
      "SendMessageBatch",
    ]),
    call: draws.whole(0, 7),
  };
}

export function oneFaultOf(one: OneFault, { seed, happens }: Pick<Lot, "seed" | "happens">) {
  let calls = 0;
  const hotRole = drawsOf(seed, "heat").pick(["api", "consumer"] as const);
  const heat = heatOf(hotRole);
  return {
    meet({ fate, call, own, now }: Try): void {
      if (one.fault === "hot-job") {
        if (heat.reaches(call) && happens("hot-job", "the claims of one job are throttled"))
          fate.entryFails = (_, item) => heat.refuses(item, now);
        return;
      }
      const its = call.machine.name.startsWith(one.role) && call.operation === one.operation;
      const struck = its && calls++ === one.call;
      const key = `${call.machine.name}#${call.index}`;
      if (struck && happens(key, one.fault)) strike(one.fault, { fate, call, own });
    },
    latest(id: string): number {
      if (one.fault !== "hot-job") return boundOf(one);
      return heat.isHot(id) ? REPEATED : hotRole === "api" ? BESIDE_HOT_PULLED : BESIDE_HOT;
    },
  };
}

/** Throttles the claims of one job: the first job of the first batch with several claims that a machine of the role makes. */
function heatOf(role: Role) {
  let hot: { item: string; until: number } | undefined;
  return {
    reaches({ machine, input }: Call): boolean {
      const { Statements = [] } = input as { Statements?: { Statement: string }[] };
      const claims = Statements.filter(({ Statement }) => Statement.includes('"leaseEnd"'));
      return hot ? claims.length > 0 : claims.length > 1 && machine.name.startsWith(role);
    },
    refuses(item = "", now: number): string | undefined {
      hot ??= { item, until: now + HEAT };
      return item === hot.item && now < hot.until ? "ThrottlingError" : undefined;
    },
    isHot: (id: string): boolean => hot?.item.endsWith(`#${id}`) === true,
  };
}
