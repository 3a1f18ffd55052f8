import type { FunctionSpec, StackSpec } from "./resources.ts";

/** The suffix that the CDK adds to a function's logical id. */
const GENERATED_SUFFIX = /(Function)?[0-9A-F]{8}$/;

/** Answers the name of a function in log lines: its topic if it runs the jobs of one topic, else its logical id without suffix. */
export function displayName(
  { arn, logicalId, environment }: FunctionSpec,
  { eventSources }: Pick<StackSpec, "eventSources">,
): string {
  const name = logicalId.replace(GENERATED_SUFFIX, "");
  const [source, second] = eventSources.filter(({ functionArn }) => functionArn === arn);
  const prefix = environment.MINUTEHAND_QUEUE_URL_PREFIX?.split("/").at(-1);
  const queue = source?.queueArn.split(":").at(-1);
  if (second !== undefined || !prefix || !queue?.startsWith(prefix)) return name;
  return queue.slice(prefix.length);
}
