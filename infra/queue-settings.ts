import type { IKey } from "aws-cdk-lib/aws-kms";
import { QueueEncryption, type QueueProps } from "aws-cdk-lib/aws-sqs";
import { removalOf } from "./removal.ts";

/** The settings of all queues with users' data: encryption, TLS only, and whether they are deleted with the stack. */
export function queueSettings({
  encryptionKey,
  removable,
}: {
  readonly encryptionKey: IKey | undefined;
  readonly removable: boolean;
}): QueueProps {
  return {
    enforceSSL: true,
    removalPolicy: removalOf(removable),
    ...(encryptionKey === undefined
      ? { encryption: QueueEncryption.SQS_MANAGED }
      : { encryption: QueueEncryption.KMS, encryptionMasterKey: encryptionKey }),
  };
}
