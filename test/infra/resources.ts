export type Resource = {
  Type: string;
  Properties: Record<string, unknown>;
  DeletionPolicy?: string;
  UpdateReplacePolicy?: string;
};

export type StackTemplate = { Resources: Record<string, Resource>; Outputs: Record<string, unknown> };

export const ALARM_TOPIC_ARN = "arn:aws:sns:eu-west-1:123456789012:on-call";

export function resourcesOf(template: StackTemplate, type: string): [string, Resource][] {
  return Object.entries(template.Resources).filter(([, resource]) => resource.Type === type);
}

type Watched = {
  readonly Namespace: string;
  readonly MetricName: string;
  readonly Dimensions: readonly { readonly Name: string; readonly Value: unknown }[];
  readonly Statistic: string;
  readonly Period: number;
};

/** The metric that an alarm watches: its own, or the only one of its expression. */
export function watchedBy({ Properties }: Resource): Watched {
  const parts = Properties.Metrics as { MetricStat?: { Metric: Watched; Stat: string; Period: number } }[];
  const stat = parts?.find(({ MetricStat }) => MetricStat !== undefined)?.MetricStat;
  if (stat === undefined) return Properties as Watched;
  return { ...stat.Metric, Statistic: stat.Stat, Period: stat.Period };
}

/** The policies that say what roles may do: policies of one role, and policies that roles share. */
export function policiesOf(template: StackTemplate): [string, Resource][] {
  return ["AWS::IAM::Policy", "AWS::IAM::ManagedPolicy"].flatMap((type) => resourcesOf(template, type));
}
