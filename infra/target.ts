import { Duration, Stack } from "aws-cdk-lib";
import {
  type Alias,
  type EventSourceMapping,
  type IFunction,
  Function as LambdaFunction,
  type Version,
} from "aws-cdk-lib/aws-lambda";
import { Construct } from "constructs";
import { brokenIn } from "../src/core/check.ts";
import { LAST_START_BEFORE_DEADLINE } from "../src/core/constants.ts";
import { longestTargetRun } from "../src/settings/target-times.ts";
import { grantInvoke } from "./access.ts";
import { type AppDuration, cdkDurationOf, insteadOfAppDuration } from "./app-duration.ts";
import { bundleOf } from "./bundles.ts";
import { BundledFunction } from "./bundling/bundled-function.ts";
import { shown } from "./checks/check.ts";
import { nameCheck } from "./checks/names.ts";
import { otherPlace } from "./checks/place.ts";
import { connectConsumer, LAMBDA_TIMEOUT } from "./consumer.ts";
import type { PoolTable } from "./job-pool.ts";
import type { TopicQueues } from "./topic-queues.ts";

export type TargetOptions = {
  /**
   * How long the function may run, 1 second to 14 minutes and 20 seconds, and no less than its own timeout.
   * @default the function's own timeout; an imported function has none here, so that you must give it
   */
  readonly timeout?: AppDuration;
};

/** With `exactOptionalPropertyTypes` an alias and a version are no `IFunction`. */
export type TargetFunction = IFunction | Alias | Version;

export type TargetProps = {
  readonly target: TargetFunction;
  /** Of the target. */
  readonly timeout: Duration;
  readonly queues: TopicQueues;
  readonly table: PoolTable;
  readonly removable: boolean;
  readonly tracing: boolean;
};

/** How many rounds of runs that all take the longest time fit into one invocation, if Lambda allows so long an invocation. */
const ROUNDS = 4;
/** ms ("Lambda quotas", AWS Lambda Developer Guide). */
const LONGEST_INVOCATION = 900_000;
/** An invocation starts no job in its last 5 s, and the first job must be claimed before. */
const AROUND_RUNS = 2 * LAST_START_BEFORE_DEADLINE;
/** 860 s. */
const LONGEST_TIMEOUT = Duration.millis(LONGEST_INVOCATION - AROUND_RUNS - longestTargetRun(0));
const MEMORY_MIB = 512;
/** How many invocations may run at once. Each runs the topic's `concurrency` of jobs, so that about 100 targets run by default. */
const DEFAULT_CONCURRENCY = 10;

/** The function that invokes the target of a topic with each job. */
export class Target extends Construct {
  readonly fn: LambdaFunction;
  readonly eventSource: EventSourceMapping;

  constructor(scope: Construct, id: string, props: TargetProps) {
    super(scope, id);
    const { target, timeout, queues, table, removable, tracing } = props;
    this.fn = new BundledFunction(this, "Caller", {
      code: bundleOf("target"),
      description: `Invokes the target of topic ${queues.topic}`,
      timeout: callerTimeout(timeout),
      memoryMiB: MEMORY_MIB,
      removable,
      tracing,
    }).fn;
    this.fn.addEnvironment("MINUTEHAND_TARGET", target.functionArn);
    this.fn.addEnvironment("MINUTEHAND_TARGET_TIMEOUT", String(timeout.toSeconds()));
    grantInvoke(this.fn, target);
    this.eventSource = connectConsumer(this.fn, queues, table, DEFAULT_CONCURRENCY);
  }
}

/** The timeout that a target has by its own definition. `undefined`: it is imported. */
function ownTimeout(fn: TargetFunction): Duration | undefined {
  // An alias and a version have their function in `lambda`.
  const lambda = "lambda" in fn ? fn.lambda : fn;
  return lambda instanceof LambdaFunction ? (lambda.timeout ?? LAMBDA_TIMEOUT) : undefined;
}

/** Answers how long a target may run, or the rule that its timeout breaks. */
export function targetTimeout(fn: TargetFunction, { timeout: given }: TargetOptions): Duration | string {
  const own = ownTimeout(fn);
  const { path } = fn.node;
  const allowed = insteadOfAppDuration(given);
  if (allowed !== undefined)
    return `the timeout of the target ${path} must be ${allowed}, got ${shown(given)}`;
  const timeout = given === undefined ? own : cdkDurationOf(given);
  if (timeout === undefined)
    return `the timeout of ${path} is not known, because the function is imported: give it, such as { timeout: "1m" }`;
  if (timeout.isUnresolved() || own?.isUnresolved())
    return `the timeout of ${path} must be known at synth, got a token`;
  const [seconds, most] = [timeout.toSeconds({ integral: false }), LONGEST_TIMEOUT.toSeconds()];
  if (!Number.isInteger(seconds) || seconds < 1 || seconds > most)
    return `the timeout of the target ${path} must be a whole number of seconds from 1 to ${most}, so that its caller can wait for the answer, got ${seconds}`;
  if (own !== undefined && seconds < own.toSeconds())
    return `the timeout of the target ${path} must be at least its own of ${own.toSeconds()} s, got ${seconds} s`;
  return timeout;
}

/**
 * Says that a target has no ARN of a function, or is not where the stack of its queue is. `undefined`: it is, or synth does not know. Lambda
 * reaches no function of another region, and one of another account only if the function's own policy allows it ("Granting Lambda function
 * access to other accounts").
 */
export function placeError(queue: Construct, fn: TargetFunction): string | undefined {
  const [wrongForm] = brokenIn(
    [nameCheck(`the functionArn of ${fn.node.path}`, "target", fn.functionArn)],
    shown,
  );
  if (wrongForm !== undefined) return wrongForm;
  const place = otherPlace(queue, fn.functionArn, fn.env);
  const { account, region } = Stack.of(queue);
  return (
    place &&
    `the target ${fn.node.path} is in ${place}: a target must be in the account and region of the queue, so give a function of ` +
      `${account} and ${region} that invokes this one`
  );
}

function callerTimeout(timeout: Duration): Duration {
  const run = longestTargetRun(timeout.toMilliseconds());
  return Duration.millis(Math.min(ROUNDS * run + AROUND_RUNS, LONGEST_INVOCATION));
}
