import { RemovalPolicy } from "aws-cdk-lib";
import {
  AttributeType,
  BillingMode,
  type CfnTable,
  type ITable,
  Table,
  TableEncryption,
} from "aws-cdk-lib/aws-dynamodb";
import type { IKey } from "aws-cdk-lib/aws-kms";
import { Construct } from "constructs";
import type { MaxThroughputProps } from "./props.ts";

/** A table of this stack, or an existing one. */
export type PoolTable = Table | ITable;

export type JobPoolProps = {
  readonly table: ITable | undefined;
  readonly maxThroughput: MaxThroughputProps | undefined;
  readonly encryptionKey: IKey | undefined;
  readonly removable: boolean;
};

/** CloudFormation chooses the name of a new table, so that a table that outlived its stack does not block the next one. */
export class JobPool extends Construct {
  readonly table: PoolTable;

  constructor(scope: Construct, id: string, props: JobPoolProps) {
    super(scope, id);
    this.table = props.table ?? this.newTable(props);
  }

  private newTable({ encryptionKey, removable, maxThroughput = {} }: JobPoolProps): Table {
    const table = new Table(this, "Table", {
      partitionKey: { name: "pk", type: AttributeType.STRING },
      sortKey: { name: "sk", type: AttributeType.STRING },
      billingMode: BillingMode.PAY_PER_REQUEST,
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
      timeToLiveAttribute: "expiresAt",
      ...(maxThroughput.read && { maxReadRequestUnits: maxThroughput.read }),
      ...(maxThroughput.write && { maxWriteRequestUnits: maxThroughput.write }),
      ...(encryptionKey && { encryption: TableEncryption.CUSTOMER_MANAGED, encryptionKey }),
      deletionProtection: !removable,
      // RETAIN, because CloudFormation cannot delete a protected table, not even after a first deployment that fails.
      removalPolicy: removable ? RemovalPolicy.DESTROY : RemovalPolicy.RETAIN,
    });
    // DynamoDB's own key costs nothing. The setting is written out, so that a table which had another key changes to this one.
    if (encryptionKey === undefined)
      (table.node.defaultChild as CfnTable).sseSpecification = { sseEnabled: false };
    return table;
  }
}
