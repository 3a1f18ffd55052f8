import {
  CloudFormationClient,
  DescribeStacksCommand,
  paginateListStackResources,
} from "@aws-sdk/client-cloudformation";

/** A deployed stack: when its creation began (ms since the epoch), and the physical names of its resources. */
export type StackParts = {
  readonly createdAt: number;
  /** The names of the resources of a type, such as `AWS::SQS::Queue`. */
  readonly named: (type: string) => string[];
};

/** Region, credentials and endpoint come from the environment. Throws when the stack is not there. */
export async function partsOf(stack: string): Promise<StackParts> {
  const client = new CloudFormationClient({});
  try {
    const { Stacks = [] } = await client.send(new DescribeStacksCommand({ StackName: stack }));
    const createdAt = Stacks[0]?.CreationTime?.getTime() ?? Number.NaN;
    const resources: { type: string; name: string }[] = [];
    for await (const page of paginateListStackResources({ client }, { StackName: stack }))
      for (const { ResourceType: type = "", PhysicalResourceId: name = "" } of page.StackResourceSummaries ??
        [])
        resources.push({ type, name });
    return {
      createdAt,
      named: (wanted) => resources.filter(({ type }) => type === wanted).map(({ name }) => name),
    };
  } finally {
    client.destroy();
  }
}
