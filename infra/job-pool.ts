import { RemovalPolicy } from "aws-cdk-lib";
import {
  AttributeType,
  BillingMode,
  type ITable,
  Table,
  TableEncryption,
  type WarmThroughput,
} from "aws-cdk-lib/aws-dynamodb";
import type { IKey } from "aws-cdk-lib/aws-kms";
import { Construct } from "constructs";
import type { MaxThroughputProps, WarmThroughputProps } from "./props.ts";

/** A table of this stack, or an existing one. */
export type PoolTable = Table | ITable;

export type JobPoolProps = {
  readonly table: ITable | undefined;
  readonly warmThroughput: WarmThroughputProps | undefined;
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

  private newTable({ encryptionKey, removable, warmThroughput, maxThroughput = {} }: JobPoolProps): Table {
    return new Table(this, "Table", {
      partitionKey: { name: "pk", type: AttributeType.STRING },
      sortKey: { name: "sk", type: AttributeType.STRING },
      billingMode: BillingMode.PAY_PER_REQUEST,
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
      timeToLiveAttribute: "expiresAt",
      ...(warmThroughput && { warmThroughput: unitsOf(warmThroughput) }),
      ...(maxThroughput.read && { maxReadRequestUnits: maxThroughput.read }),
      ...(maxThroughput.write && { maxWriteRequestUnits: maxThroughput.write }),
      ...(encryptionKey === undefined
        ? { encryption: TableEncryption.AWS_MANAGED }
        : { encryption: TableEncryption.CUSTOMER_MANAGED, encryptionKey }),
      deletionProtection: !removable,
      // RETAIN, because CloudFormation cannot delete a protected table, not even after a first deployment that fails.
      removalPolicy: removable ? RemovalPolicy.DESTROY : RemovalPolicy.RETAIN,
    });
  }
}

function unitsOf({ read, write }: WarmThroughputProps): WarmThroughput {
  return { ...(read && { readUnitsPerSecond: read }), ...(write && { writeUnitsPerSecond: write }) };
}
