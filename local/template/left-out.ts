import { LocalError } from "../local-error.ts";
import { type Refusal, type ResourceKind, refusalText } from "./create-each.ts";
import type { StackSpec } from "./resources.ts";

/**
 * Event sources, rules and routes without a target go to `leftOut`. Throws `LocalError` if a delay queue lacks its table or a ready queue.
 */
export function leaveOutDangling(stack: StackSpec): StackSpec {
  requireDelayQueue(stack);
  const functions = new Set(stack.functions.map(({ arn }) => arn));
  const queues = new Set(stack.queues.map(({ arn }) => arn));
  const leftOut = [...stack.leftOut];
  const keepIfPlayed = (what: string, toFunction: string[], toQueues: readonly string[] = []): boolean => {
    const missing = [
      ...toFunction.filter((arn) => !functions.has(arn)),
      ...toQueues.filter((arn) => !queues.has(arn)),
    ];
    if (missing.length > 0) leftOut.push(`${what}: it leads to ${missing.join(", ")}, which is not played`);
    return missing.length === 0;
  };
  return {
    ...stack,
    eventSources: stack.eventSources.filter(({ queueArn, functionArn }) =>
      keepIfPlayed(`the event source of ${functionArn}`, [functionArn], [queueArn]),
    ),
    rules: stack.rules.filter(({ arn, functionArns }) => keepIfPlayed(`rule ${arn}`, functionArns)),
    eventRules: stack.eventRules.filter(({ arn, queueArns }) => keepIfPlayed(`rule ${arn}`, [], queueArns)),
    routes: stack.routes.filter(({ key, functionArn }) => keepIfPlayed(`route ${key}`, [functionArn])),
    leftOut,
  };
}

function requireDelayQueue({ tables, queues, required, leftOut }: StackSpec): void {
  const names = [...tables, ...queues].map(({ name }) => name);
  const missing = required.filter((name) => !names.includes(name));
  if (missing.length === 0) return;
  throw new LocalError(`the delay queue cannot run without ${missing.join(", ")}: ${leftOut.join("; ")}`);
}

/** Leaves out what a service rejected, and then everything that leads to it. */
export function leaveOutRefused(stack: StackSpec, refusals: readonly Refusal[]): StackSpec {
  const isAccepted = (kind: ResourceKind) => (spec: { readonly name: string }) =>
    !refusals.some((refusal) => refusal.kind === kind && refusal.name === spec.name);
  return leaveOutDangling({
    ...stack,
    tables: stack.tables.filter(isAccepted("table")),
    queues: stack.queues.filter(isAccepted("queue")),
    leftOut: [...stack.leftOut, ...refusals.map(refusalText)],
  });
}
