import { CloudWatchClient, paginateDescribeAlarms } from "@aws-sdk/client-cloudwatch";
import { CloudWatchLogsClient, paginateFilterLogEvents } from "@aws-sdk/client-cloudwatch-logs";
import type { StackParts } from "./stack-parts.ts";

const MOST_NAMES = 100;
/** What AWS's services say when a role lacks a permission. */
const DENIED = '?AccessDenied ?"not authorized" ?UnauthorizedOperation';

export async function alarmsOf({
  named,
}: StackParts): Promise<{ quiet: number; unknown: number; ringing: string[] }> {
  const names = named("AWS::CloudWatch::Alarm");
  const states = new Map<string, string>();
  const client = new CloudWatchClient({});
  for (let at = 0; at < names.length; at += MOST_NAMES) {
    const AlarmNames = names.slice(at, at + MOST_NAMES);
    for await (const { MetricAlarms = [] } of paginateDescribeAlarms({ client }, { AlarmNames }))
      for (const { AlarmName = "", StateValue = "" } of MetricAlarms) states.set(AlarmName, StateValue);
  }
  client.destroy();
  const all = [...states];
  if (all.length !== names.length)
    throw new Error(`CloudWatch must know all ${names.length} alarms of the stack, knows ${all.length}`);
  return {
    quiet: all.filter(([, state]) => state === "OK").length,
    unknown: all.filter(([, state]) => state === "INSUFFICIENT_DATA").length,
    ringing: all.filter(([, state]) => state === "ALARM").map(([name]) => name),
  };
}

export async function denialsIn({ named, createdAt }: StackParts): Promise<string[]> {
  const client = new CloudWatchLogsClient({});
  const lines: string[] = [];
  for (const logGroupName of named("AWS::Logs::LogGroup")) {
    const asked = { logGroupName, filterPattern: DENIED, startTime: createdAt };
    for await (const { events = [] } of paginateFilterLogEvents({ client }, asked))
      lines.push(...events.map(({ message = "" }) => message.trim()));
  }
  client.destroy();
  return lines;
}
