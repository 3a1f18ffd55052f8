import { Stack, TagManager, Token } from "aws-cdk-lib";
import { CfnEventSourceMapping, CfnFunction, type Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import type { IConstruct } from "constructs";

type Feature = "pollers" | "tracing" | "tags";

/**
 * What Lambda lacks in a partition, by the start of its regions' names: "Amazon Lambda" in "Getting Started with Amazon Web Services in
 * China", and "AWS Lambda in AWS GovCloud (US)" in the "AWS GovCloud (US) User Guide". Both were read in November 2026.
 */
const LACKING: readonly (readonly [start: string, features: readonly Feature[]])[] = [
  ["cn-", ["pollers", "tracing", "tags"]],
  ["us-gov-", ["tags"]],
];

const FEATURES: Readonly<Record<Feature, { uses: (one: IConstruct) => boolean; text: string }>> = {
  pollers: {
    uses: (one) => one instanceof CfnEventSourceMapping && one.provisionedPollerConfig !== undefined,
    text: "has no provisioned mode of event sources: leave out pollers",
  },
  tracing: {
    uses: (one) => one instanceof CfnFunction && one.tracingConfig !== undefined,
    text: "has no tracing by AWS X-Ray: leave out tracing",
  },
  tags: {
    uses: (one) =>
      one instanceof CfnEventSourceMapping && Object.keys(TagManager.of(one)?.tagValues() ?? {}).length > 0,
    text:
      "has no tags of event source mappings: leave them out, as in " +
      'Tags.of(app).add(name, value, { excludeResourceTypes: ["AWS::Lambda::EventSourceMapping"] })',
  },
};

/** Names each feature that the functions or their event sources use, and that Lambda does not have in their region, if that is known. */
export function partitionErrors(functions: Iterable<LambdaFunction>): string[] {
  const parts = [...functions].flatMap((fn) => fn.node.findAll());
  const regions = Map.groupBy(parts, (part) => Stack.of(part).region);
  return [...regions].flatMap(([region, these]) => {
    if (Token.isUnresolved(region)) return [];
    const lacking = LACKING.find(([start]) => region.startsWith(start))?.[1] ?? [];
    return lacking.flatMap((feature) => {
      const { uses, text } = FEATURES[feature];
      const user = these.find(uses);
      return user === undefined ? [] : [`in ${region} Lambda ${text}; used by ${user.node.path}`];
    });
  });
}
