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
import type { WarmThroughputProps } from "./props.ts";

/** A table of the stack's own, or one that it is given. */
export type PoolTable = Table | ITable;

export type JobPoolProps = {
  /** Of another stack or a restored one; `undefined`: a new one. */
  readonly table: ITable | undefined;
  readonly warmThroughput: WarmThroughputProps | undefined;
  readonly encryptionKey: IKey | undefined;
  readonly removable: boolean;
};

/**
 * The table that holds jobs, filed by time: one of its own, or the one that it is given. Its own has CloudFormation's name, so that
 * a kept one is in nobody's way.
 */
export class JobPool extends Construct {
  readonly table: PoolTable;

  constructor(scope: Construct, id: string, props: JobPoolProps) {
    super(scope, id);
    this.table = props.table ?? this.newTable(props);
  }

  private newTable({ encryptionKey, removable, warmThroughput }: JobPoolProps): Table {
    return new Table(this, "Table", {
      partitionKey: { name: "pk", type: AttributeType.STRING },
      sortKey: { name: "sk", type: AttributeType.STRING },
      billingMode: BillingMode.PAY_PER_REQUEST,
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
      timeToLiveAttribute: "expiresAt",
      ...(warmThroughput && { warmThroughput: unitsOf(warmThroughput) }),
      ...(encryptionKey === undefined
        ? { encryption: TableEncryption.AWS_MANAGED }
        : { encryption: TableEncryption.CUSTOMER_MANAGED, encryptionKey }),
      deletionProtection: !removable,
      // Not even a first deployment that fails takes it back: CloudFormation cannot delete what is protected.
      removalPolicy: removable ? RemovalPolicy.DESTROY : RemovalPolicy.RETAIN,
    });
  }
}

function unitsOf({ read, write }: WarmThroughputProps): WarmThroughput {
  return { ...(read && { readUnitsPerSecond: read }), ...(write && { writeUnitsPerSecond: write }) };
}
