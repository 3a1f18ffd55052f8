import { Alias, Function as LambdaFunction, Version } from "aws-cdk-lib/aws-lambda";

/** A function of the app, its `currentVersion`, or an alias of that version. */
export type AnyFunction = LambdaFunction | Alias | Version;

/** The CDK gives this id to `currentVersion`, which it publishes anew when the function's environment changes. */
const CURRENT_VERSION = "CurrentVersion";

/**
 * Answers the function whose environment and role an alias or a version has. Answers a sentence instead if the queue cannot set that
 * environment.
 */
export function functionBehind(target: AnyFunction): LambdaFunction | string {
  if (target instanceof LambdaFunction) return target;
  const version = target instanceof Alias ? target.version : target;
  if (!(version instanceof Version) || !(version.lambda instanceof LambdaFunction))
    return (
      `${target.node.path} is imported, so the queue cannot set its environment: give a Function of this app, its currentVersion, or ` +
      "an alias of its currentVersion"
    );
  if (version.node.scope !== version.lambda || version.node.id !== CURRENT_VERSION)
    return (
      `${version.node.path} keeps the environment that it was first published with: give the currentVersion of ` +
      `${version.lambda.node.path}, or an alias of it`
    );
  return version.lambda;
}

/** Whether `producer` is a kind of function, whose environment the queue must set. A role is not. */
export function isAnyFunction(producer: object): producer is AnyFunction {
  return [LambdaFunction, Alias, Version].some((kind) => producer instanceof kind);
}
