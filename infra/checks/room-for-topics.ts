import { CfnResource, type Stack } from "aws-cdk-lib";

/** "Understand CloudFormation quotas", AWS CloudFormation User Guide. */
const MOST_RESOURCES = 500;
/** Above it, synth warns. */
const MANY_RESOURCES = 400;
/** The resources of a pull topic with default settings: a queue, a DLQ and its alarm. */
const PULL_TOPIC = 3;
/** A topic with a handler also has a function with its role, policy, log group and event source. */
const HANDLER_TOPIC = 8;

/** `undefined` if the stack is far from full. */
export function roomForTopics(stack: Stack): string | undefined {
  const resources = stack.node
    .findAll()
    .filter((node) => CfnResource.isCfnResource(node) && node.stack === stack).length;
  if (resources <= MANY_RESOURCES) return undefined;
  const fitting = (size: number): number => Math.max(Math.floor((MOST_RESOURCES - resources) / size), 0);
  return (
    `stack ${stack.stackName} has ${resources} resources, and CloudFormation allows ${MOST_RESOURCES}: ` +
    `${fitting(HANDLER_TOPIC)} more topics with handlers fit, or ${fitting(PULL_TOPIC)} pull topics. ` +
    "Declare further topics in another DelayQueue, with another prefix, in another stack"
  );
}
