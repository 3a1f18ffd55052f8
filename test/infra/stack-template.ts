import { App } from "aws-cdk-lib";
import { Template } from "aws-cdk-lib/assertions";
import { MinutehandStack, type MinutehandStackProps } from "../../infra/minutehand-stack.ts";
import { ALARM_TOPIC_ARN, type StackTemplate } from "./resources.ts";

/** What the app deploys in production. */
export function productionTemplate(props: MinutehandStackProps = {}): StackTemplate {
  const stack = new MinutehandStack(new App(), "Minutehand", { alarmTopicArn: ALARM_TOPIC_ARN, ...props });
  return Template.fromStack(stack).toJSON() as StackTemplate;
}
