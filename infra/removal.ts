import { RemovalPolicy } from "aws-cdk-lib";

/**
 * The removal policy of a resource with users' data or with a fixed name. With `removable`, the resource is deleted with its
 * stack. Otherwise, the resource stays when the stack is deleted. If the first deployment fails, the resource is deleted in both
 * cases, because its name would be taken at the next attempt.
 */
export function removalOf(removable: boolean): RemovalPolicy {
  return removable ? RemovalPolicy.DESTROY : RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE;
}
