import { LocalError } from "./local-error.ts";
import type { StackSpec } from "./resources.ts";

/**
 * The stack without what leads to a function or a queue that is none of those played; each is named. Throws `LocalError`
 * if a delay queue's own table or one of its ready queues is none.
 */
export function leaveOutDangling(stack: StackSpec): StackSpec {
  refuseHalves(stack);
  const functions = new Set(stack.functions.map(({ arn }) => arn));
  const queues = new Set(stack.queues.map(({ arn }) => arn));
  const leftOut = [...stack.leftOut];
  const leads = (what: string, toFunction: string[], toQueues: readonly string[] = []): boolean => {
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
      leads(`the event source of ${functionArn}`, [functionArn], [queueArn]),
    ),
    rules: stack.rules.filter(({ arn, functionArns }) => leads(`rule ${arn}`, functionArns)),
    eventRules: stack.eventRules.filter(({ arn, queueArns }) => leads(`rule ${arn}`, [], queueArns)),
    routes: stack.routes.filter(({ key, functionArn }) => leads(`route ${key}`, [functionArn])),
    leftOut,
  };
}

function refuseHalves({ tables, queues, required, leftOut }: StackSpec): void {
  const names = [...tables, ...queues].map(({ name }) => name);
  const missing = required.filter((name) => !names.includes(name));
  if (missing.length === 0) return;
  throw new LocalError(`the delay queue cannot run without ${missing.join(", ")}: ${leftOut.join("; ")}`);
}
