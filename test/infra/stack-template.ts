import { App } from "aws-cdk-lib";
import { Template } from "aws-cdk-lib/assertions";
import { MinutehandStack, type MinutehandStackProps } from "../../infra/minutehand-stack.ts";

export type Resource = {
  Type: string;
  Properties: Record<string, unknown>;
  DeletionPolicy?: string;
  UpdateReplacePolicy?: string;
};

export type StackTemplate = { Resources: Record<string, Resource>; Outputs: Record<string, unknown> };

export const ALARM_TOPIC_ARN = "arn:aws:sns:eu-west-1:123456789012:on-call";

/** What the app deploys in production. */
export function productionTemplate(props: MinutehandStackProps = {}): StackTemplate {
  const stack = new MinutehandStack(new App(), "Minutehand", { alarmTopicArn: ALARM_TOPIC_ARN, ...props });
  return Template.fromStack(stack).toJSON() as StackTemplate;
}

export function resourcesOf(template: StackTemplate, type: string): [string, Resource][] {
  return Object.entries(template.Resources).filter(([, resource]) => resource.Type === type);
}
