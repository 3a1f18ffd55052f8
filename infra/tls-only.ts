import { AnyPrincipal, Effect, PolicyStatement } from "aws-cdk-lib/aws-iam";
import { type Queue, QueuePolicy } from "aws-cdk-lib/aws-sqs";
import type { Construct } from "constructs";

/**
 * Has queues refuse what does not come by TLS. One policy for all, since CloudFormation bounds a stack's resources. It allows
 * nothing, so that its `*` stands for the queue that it is attached to.
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
