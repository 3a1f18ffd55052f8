import { inflateRawSync } from "node:zlib";
import type { FunctionSpec } from "./resources.ts";
import { asList, asObject, resolve, type Scope, type Template } from "./template.ts";

/** What the construct says of its outputs, by which a delay queue is found in a template. */
const TABLE_OUTPUT = "Minutehand table";
const API_OUTPUT = "Minutehand API";

type Policies = Readonly<Record<string, { readonly webhook?: object }>>;

export function hasDelayQueue({ Outputs = {} }: Template): boolean {
  return Object.values(Outputs).some(({ Description }) => Description === TABLE_OUTPUT);
}

/** The logical id of the first delay queue's HTTP API, whose endpoint is an output; `undefined` where there is none. */
export function delayQueueApiId({ Outputs = {} }: Template): string | undefined {
  const endpoint = Object.values(Outputs).find(({ Description }) => Description === API_OUTPUT)?.Value;
  const [logicalId] = asList(asObject(endpoint)["Fn::GetAtt"]);
  return typeof logicalId === "string" ? logicalId : undefined;
}

/** The topics that a function knows, by their names; none if it knows no delay queue. */
export function topicsOfFunction({ environment }: Pick<FunctionSpec, "environment">): Policies {
  const { MINUTEHAND_POLICY: text = "{}" } = environment;
  // A long policy is deflated.
  const json = text.startsWith("{") ? text : inflateRawSync(Buffer.from(text, "base64")).toString();
  const { topics = {} }: { topics?: Policies } = JSON.parse(json);
  return topics;
}

/** The names of the tables and ready queues without which the template's delay queues would lose jobs. */
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
    .flatMap((spec) => {
      const prefix = spec.environment.MINUTEHAND_QUEUE_URL_PREFIX?.split("/").at(-1) ?? "";
      return Object.keys(topicsOfFunction(spec)).map((topic) => prefix + topic);
    });
  return [...new Set([...tables, ...readyQueues])];
}
