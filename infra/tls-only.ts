import { AnyPrincipal, Effect, PolicyStatement } from "aws-cdk-lib/aws-iam";
import { type Queue, QueuePolicy } from "aws-cdk-lib/aws-sqs";
import type { Construct } from "constructs";

/**
 * Makes queues refuse requests without TLS. All queues share one policy, because CloudFormation limits the resources of a stack. The
 * policy only denies. Its resource `*` stands for each queue to which the policy is attached.
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
