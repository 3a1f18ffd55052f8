import { RemovalPolicy } from "aws-cdk-lib";

/**
 * The removal policy of a resource with users' data or with a fixed name. It stays when the stack is deleted. If the first deployment
 * fails, it is deleted, because otherwise the next attempt would find the names of queues taken.
 */
export function removalOf(removable: boolean): RemovalPolicy {
  return removable ? RemovalPolicy.DESTROY : RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE;
}
