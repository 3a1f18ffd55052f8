import { RemovalPolicy } from "aws-cdk-lib";
import { AttributeType, BillingMode, Table, TableEncryption } from "aws-cdk-lib/aws-dynamodb";
import type { IKey } from "aws-cdk-lib/aws-kms";
import { Construct } from "constructs";

export type JobPoolProps = { readonly encryptionKey: IKey | undefined; readonly removable: boolean };

/** The table that holds jobs, filed by time. Its name is CloudFormation's, so that a kept one is in nobody's way. */
export class JobPool extends Construct {
  readonly table: Table;

  constructor(scope: Construct, id: string, { encryptionKey, removable }: JobPoolProps) {
    super(scope, id);
    this.table = new Table(this, "Table", {
      partitionKey: { name: "pk", type: AttributeType.STRING },
      sortKey: { name: "sk", type: AttributeType.STRING },
      billingMode: BillingMode.PAY_PER_REQUEST,
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
      timeToLiveAttribute: "expiresAt",
      ...(encryptionKey === undefined
        ? { encryption: TableEncryption.AWS_MANAGED }
        : { encryption: TableEncryption.CUSTOMER_MANAGED, encryptionKey }),
      deletionProtection: !removable,
      removalPolicy: removable ? RemovalPolicy.DESTROY : RemovalPolicy.RETAIN,
    });
  }
}
