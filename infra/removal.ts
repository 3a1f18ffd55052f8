import { RemovalPolicy } from "aws-cdk-lib";

/**
 * What becomes of what holds users' data, or has a name of its own, when it leaves the stack. It stays, but for a first deployment
 * that fails: what that had made goes again, since the next attempt would find the names of queues taken.
 */
export function removalOf(removable: boolean): RemovalPolicy {
  return removable ? RemovalPolicy.DESTROY : RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE;
}
