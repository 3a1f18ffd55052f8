import type { FunctionSpec, StackSpec } from "./resources.ts";

/** What the CDK adds to a function's name in the template. */
const GENERATED_SUFFIX = /(Function)?[0-9A-F]{8}$/;

/** What lines call a function: the one topic whose jobs it runs, else its name in the template. */
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
