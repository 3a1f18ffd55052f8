import { Annotations, ArnFormat, Aspects, Aws, Stack } from "aws-cdk-lib";
import { PolicyStatement, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import type { IKey } from "aws-cdk-lib/aws-kms";
import { CfnLogGroup } from "aws-cdk-lib/aws-logs";
import type { Construct } from "constructs";

/** "Encrypt log data in CloudWatch Logs using AWS KMS", CloudWatch Logs User Guide. */
const ACTIONS = [
  "kms:Encrypt",
  "kms:Decrypt",
  "kms:ReEncryptFrom",
  "kms:ReEncryptTo",
  "kms:GenerateDataKey",
  "kms:DescribeKey",
];

/**
 * CloudWatch Logs may then use the key for groups of this account. If this app cannot change the key's policy, only warns, and answers `false`.
 */
export function encryptLogs(scope: Construct, key: IKey): boolean {
  const groups = Stack.of(scope).formatArn({
    service: "logs",
    resource: "log-group",
    resourceName: "*",
    arnFormat: ArnFormat.COLON_RESOURCE_NAME,
  });
  const { statementAdded } = key.addToResourcePolicy(
    new PolicyStatement({
      principals: [new ServicePrincipal(`logs.${Aws.REGION}.amazonaws.com`)],
      actions: ACTIONS,
      resources: ["*"],
      conditions: { ArnLike: { "kms:EncryptionContext:aws:logs:arn": groups } },
    }),
  );
  if (statementAdded) {
    useLogKey(scope, key);
    return true;
  }
  // Another app owns the policy of this key. CloudFormation cannot create a log group with a key that CloudWatch Logs may not use.
  Annotations.of(scope).addWarningV2(
    "minutehand:logs-key",
    "the logs stay under CloudWatch's own key, because this app cannot change the policy of the encryption key",
  );
  return false;
}

/** Encrypts the log groups in `scope`. */
export function useLogKey(scope: Construct, key: IKey): void {
  const visit = (node: unknown): void => {
    if (node instanceof CfnLogGroup) node.kmsKeyId = key.keyArn;
  };
  Aspects.of(scope).add({ visit });
}
