import { inflateRawSync } from "node:zlib";
import type { FunctionSpec } from "./resources.ts";
import { asList, asObject, type JsonObject, resolve, type Scope, type Template } from "./template.ts";

/** The descriptions that the construct `DelayQueue` gives its outputs. A template with the table's output has a delay queue. */
const TABLE_OUTPUT = "Minutehand table";
const API_OUTPUT = "Minutehand API";

/** The description of the rule that fires its tick. */
const TICK_RULE = "Minutehand's tick";

type Policies = Readonly<
  Record<string, { readonly webhook?: { readonly url?: string }; readonly consumer?: string }>
>;

export function hasDelayQueue({ Outputs = {} }: Template): boolean {
  return Object.values(Outputs).some(({ Description }) => Description === TABLE_OUTPUT);
}

export function isTickRule({ Description }: JsonObject): boolean {
  return Description === TICK_RULE;
}

/** `undefined` if there is none. */
export function delayQueueApiId({ Outputs = {} }: Template): string | undefined {
  const endpoint = Object.values(Outputs).find(({ Description }) => Description === API_OUTPUT)?.Value;
  const [logicalId] = asList(asObject(endpoint)["Fn::GetAtt"]);
  return typeof logicalId === "string" ? logicalId : undefined;
}

/** Answers the topics in a function's policy, by their names. A function without a delay queue has none. */
export function topicsOfFunction({ environment }: Pick<FunctionSpec, "environment">): Policies {
  return readPolicy(environment.MINUTEHAND_POLICY ?? "{}").topics ?? {};
}

/** Says what becomes of the jobs of a topic that was declared before. */
export function goneTopicText(topic: string): string {
  return `the topic ${topic} is not declared any more: its waiting jobs will be dead an hour after they are due, unless you declare it again`;
}

/** Answers each topic in a function's policy, with the name of its ready queue. */
export function readyQueuesOf(spec: Pick<FunctionSpec, "environment">): [topic: string, queue: string][] {
  const prefix = spec.environment.MINUTEHAND_QUEUE_URL_PREFIX?.split("/").at(-1) ?? "";
  return Object.keys(topicsOfFunction(spec)).map((topic) => [topic, prefix + topic]);
}

/** Answers the ARN of each webhook topic's secret, by topic. */
export function webhookSecretsOf(
  functions: readonly Pick<FunctionSpec, "environment">[],
): Readonly<Record<string, string>> {
  const secrets = functions.map(({ environment }) => {
    const { MINUTEHAND_WEBHOOK_TOPIC: topic, MINUTEHAND_WEBHOOK_SECRET: secret } = environment;
    return topic === undefined || secret === undefined ? {} : { [topic]: secret };
  });
  return Object.assign({}, ...secrets);
}

/** More shards help only partitions of AWS, and slow each list and bulk down. A table that already has more shards keeps them. */
export function withOneShard(spec: FunctionSpec): FunctionSpec {
  const { MINUTEHAND_POLICY: text } = spec.environment;
  if (text === undefined) return spec;
  const policy = JSON.stringify({ ...readPolicy(text), shards: 1 });
  return { ...spec, environment: { ...spec.environment, MINUTEHAND_POLICY: policy } };
}

function readPolicy(text: string): { readonly topics?: Policies } {
  // The construct compresses a policy that is too long for an environment variable.
  const json = text.startsWith("{") ? text : inflateRawSync(Buffer.from(text, "base64")).toString();
  return JSON.parse(json);
}

/** Lists the names of the tables and ready queues of the template's delay queues. If one of these were missing, jobs would get lost. */
export function requiredNames(
  { Outputs = {} }: Template,
  scope: Scope,
  functions: readonly FunctionSpec[],
): string[] {
  const tables = Object.values(Outputs)
    .filter(({ Description, Value }) => Description === TABLE_OUTPUT && Value !== undefined)
    .map(({ Value = null }) => String(resolve(Value, scope)));
  const readyQueues = functions
    .filter(({ environment }) => tables.includes(environment.MINUTEHAND_TABLE ?? ""))
    .flatMap((spec) => readyQueuesOf(spec).map(([, queue]) => queue));
  return [...new Set([...tables, ...readyQueues])];
}
