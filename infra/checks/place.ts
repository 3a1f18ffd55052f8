import { Arn, ArnFormat, type ResourceEnvironment, Stack, Token, TokenComparison } from "aws-cdk-lib";
import type { Construct } from "constructs";

/** Says in which other account or region than the stack of a queue a resource is. `undefined`: in none, or synth does not know. */
export function otherPlace(queue: Construct, arn: string, env: ResourceEnvironment): string | undefined {
  const own = Token.isUnresolved(arn) ? env : Arn.split(arn, ArnFormat.COLON_RESOURCE_NAME);
  const { account, region } = Stack.of(queue);
  const isElsewhere = (one = "", other: string) =>
    Token.compareStrings(one, other) === TokenComparison.DIFFERENT;
  if (isElsewhere(own.account, account)) return `account ${own.account}`;
  return isElsewhere(own.region, region) ? `region ${own.region}` : undefined;
}
