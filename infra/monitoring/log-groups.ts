import { Fn, Stack, Token } from "aws-cdk-lib";
import { CfnFunction, type Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import type { Construct } from "constructs";
import { inConsole, logUrl } from "../../src/settings/log-groups.ts";

/** `undefined` if it is unknown. Ignores a function in another stack than `scope`: two stacks cannot refer to each other. */
export function logGroupOf(scope: Construct, fn: LambdaFunction): string | undefined {
  const resource = fn.node.defaultChild;
  if (Stack.of(fn) !== Stack.of(scope) || !(resource instanceof CfnFunction)) return undefined;
  // `fn.logGroup` would create a custom resource for a function that has no log group of its own.
  const { logGroup } = (resource.loggingConfig ?? {}) as CfnFunction.LoggingConfigProperty;
  return logGroup;
}

/** Errors that handlers have thrown, jobs that died, and Lambda's own line about an invocation that reached its timeout. */
const FAILURES = '?"job threw" ?"job dead" ?"timed out"';

/** CloudFormation inserts the names that only the deployment knows. */
export function failuresUrl(scope: Construct, group: string): string {
  const name = Token.isUnresolved(group) ? Fn.join(inConsole("/"), Fn.split("/", group)) : inConsole(group);
  return logUrl(Stack.of(scope).region, name, FAILURES);
}
