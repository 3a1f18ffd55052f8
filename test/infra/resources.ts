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

/** The policies that say what roles may do: policies of one role, and policies that roles share. */
export function policiesOf(template: StackTemplate): [string, Resource][] {
  return ["AWS::IAM::Policy", "AWS::IAM::ManagedPolicy"].flatMap((type) => resourcesOf(template, type));
}
