import { RemovalPolicy } from "aws-cdk-lib";

/**
 * For users' data or fixed names. Unless `removable`, the resource stays when the stack is deleted. A first deployment that fails deletes
 * it anyway, because its name would be taken at the next attempt.
 */
export function removalOf(removable: boolean): RemovalPolicy {
  return removable ? RemovalPolicy.DESTROY : RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE;
}
