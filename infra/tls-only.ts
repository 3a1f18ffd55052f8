import { AnyPrincipal, Effect, PolicyStatement } from "aws-cdk-lib/aws-iam";
import { type Queue, QueuePolicy } from "aws-cdk-lib/aws-sqs";
import type { Construct } from "constructs";

/**
 * All queues share one policy, because CloudFormation limits a stack's resources. It only denies, and its `*` is each queue that has it.
 */
export function tlsOnly(scope: Construct, id: string, queues: Queue[]): void {
  const policy = new QueuePolicy(scope, id, { queues });
  policy.document.addStatements(
    new PolicyStatement({
      effect: Effect.DENY,
      principals: [new AnyPrincipal()],
      actions: ["sqs:*"],
      resources: ["*"],
      conditions: { Bool: { "aws:SecureTransport": "false" } },
    }),
  );
}
