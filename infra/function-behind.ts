import type { IGrantable } from "aws-cdk-lib/aws-iam";
import { Alias, type IFunction, Function as LambdaFunction, Version } from "aws-cdk-lib/aws-lambda";
import { Construct } from "constructs";

/** A function of the app, its `currentVersion`, or an alias of that version. */
export type AnyFunction = LambdaFunction | Alias | Version;

/** The CDK gives this id to `currentVersion`, which it publishes anew when the function's environment changes. */
const CURRENT_VERSION = "CurrentVersion";

/**
 * Answers the function whose environment and role an alias or a version has. Answers a sentence instead if the queue cannot set that
 * environment.
 */
export function functionBehind(target: AnyFunction | IFunction): LambdaFunction | string {
  if (target instanceof LambdaFunction) return target;
  const version = target instanceof Alias ? target.version : target;
  const behind = "lambda" in version ? version.lambda : undefined;
  if (behind instanceof LambdaFunction && !(version instanceof Version))
    return `${target.node.path} is not a published version: give ${behind.node.path}, its currentVersion, or an alias of its currentVersion`;
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

/** Whether `grantee` is a kind of function, also an imported one. A role is not: it has no environment. */
export function isAnyFunction(grantee: IGrantable): grantee is IFunction {
  return Construct.isConstruct(grantee) && "functionArn" in grantee;
}
