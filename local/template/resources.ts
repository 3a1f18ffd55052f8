import type { BundleNote } from "../app/bundle-note.ts";
import { LocalError } from "../local-error.ts";
import type { Assembly } from "./assembly.ts";
import { delayQueueApiId, requiredNames } from "./delay-queue.ts";
import type { EventRuleSpec } from "./event-rule.ts";
import { leaveOutDangling } from "./left-out.ts";
import { type Site, scopeOf } from "./naming.ts";
import { propertiesOf, type Reading, readResource } from "./read-resource.ts";
import { holds, type JsonObject } from "./template.ts";

/** `properties` are those of CreateTable, and `TimeToLiveSpecification`. */
export type TableSpec = { readonly name: string; readonly properties: JsonObject };
export type QueueSpec = {
  readonly name: string;
  readonly url: string;
  readonly arn: string;
  readonly attributes: Readonly<Record<string, string>>;
};
export type FunctionSpec = {
  readonly logicalId: string;
  readonly name: string;
  readonly arn: string;
  /** `index.handler` */
  readonly handler: string;
  readonly codeDir: string;
  /** A hash that changes only with the code. `codeDir` changes with each synthesis. */
  readonly codeHash: string;
  readonly timeoutMs: number;
  readonly memoryMb: number;
  readonly environment: Readonly<Record<string, string>>;
  readonly reservedConcurrency: number | undefined;
  /** Absent: Node.js runs the code. */
  readonly isPython?: true;
  /** How the app has bundled the code. Absent: another tool has made the code. */
  readonly bundle?: BundleNote | undefined;
};
export type EventSourceSpec = {
  readonly uuid: string;
  readonly enabled: boolean;
  readonly functionArn: string;
  readonly queueArn: string;
  readonly batchSize: number;
  readonly maximumConcurrency: number | undefined;
  readonly reportsFailures: boolean;
};
export type RuleSpec = {
  readonly arn: string;
  readonly everyMinutes: number;
  readonly functionArns: string[];
  /** Whether it fires the tick of a delay queue. */
  readonly isTick: boolean;
};
/** `properties` are those of CreateSchedule, with dates as text. */
export type ScheduleSpec = { readonly name: string; readonly properties: JsonObject };
export type SecretSpec = { readonly name: string; readonly properties: JsonObject };
export type RouteSpec = { readonly key: string; readonly functionArn: string; readonly timeoutMs: number };

/** The parts of a synthesised stack that the local stack plays, by kind, and the parts that it leaves out. */
export type StackSpec = {
  readonly tables: TableSpec[];
  readonly queues: QueueSpec[];
  readonly functions: FunctionSpec[];
  readonly eventSources: EventSourceSpec[];
  readonly rules: RuleSpec[];
  readonly eventRules: EventRuleSpec[];
  /** Names. The default bus is not among them. */
  readonly eventBuses: string[];
  readonly scheduleGroups: string[];
  readonly schedules: ScheduleSpec[];
  readonly secrets: SecretSpec[];
  readonly routes: RouteSpec[];
  /** The template's resource types that are neither played nor without effect on this machine. */
  readonly unknownTypes: string[];
  /** The names of the tables and queues without which a delay queue of the stack cannot run. */
  readonly required: readonly string[];
  /** A line with name and reason for each resource that is not played, although others of its type are. */
  readonly leftOut: string[];
  readonly warnings: readonly string[];
};

export function emptyStack(): StackSpec {
  return {
    tables: [],
    queues: [],
    functions: [],
    eventSources: [],
    rules: [],
    eventRules: [],
    eventBuses: [],
    scheduleGroups: [],
    schedules: [],
    secrets: [],
    routes: [],
    unknownTypes: [],
    required: [],
    leftOut: [],
    warnings: [],
  };
}

/**
 * An app may have more than a delay queue: `leftOut` names it. Throws `LocalError` if a delay queue's table or ready queue is not playable.
 */
export function readStack({ template, assets, others, warnings }: Assembly, site: Site): StackSpec {
  const scope = scopeOf(template, site, others);
  const reading = { template, assets, scope, site };
  const routes = routesOf(reading);
  // The local stack has one address, so it plays one API: the delay queue's, else the API of the first route.
  const playedApi = delayQueueApiId(template) ?? routes[0]?.api;
  const parts = Object.keys(template.Resources).map((logicalId) => {
    const part = ifPlayable(
      () => isDeclared(reading, logicalId) && readResource(reading, logicalId, playedApi),
    );
    if (part instanceof LocalError) return { leftOut: [`${logicalId}: ${part.message}`] };
    return part || {};
  });
  const stack = join([
    { warnings: [...warnings] },
    ...parts,
    { leftOut: describeOtherApis(routes, playedApi) },
  ]);
  return leaveOutDangling({
    ...stack,
    unknownTypes: [...new Set(stack.unknownTypes)],
    required: requiredNames(template, scope, stack.functions),
  });
}

function isDeclared({ template, scope }: Reading, logicalId: string): boolean {
  const condition = template.Resources[logicalId]?.Condition;
  return condition === undefined || holds(condition, scope);
}

function ifPlayable<T>(read: () => T): T | LocalError {
  try {
    return read();
  } catch (error) {
    if (error instanceof LocalError) return error;
    throw error;
  }
}

function join(parts: readonly Partial<StackSpec>[]): StackSpec {
  const kinds = Object.keys(emptyStack()) as (keyof StackSpec)[];
  const lists = kinds.map((kind) => [kind, parts.flatMap<unknown>((part) => part[kind] ?? [])]);
  return Object.fromEntries(lists) as StackSpec;
}

type ApiRoute = { readonly api: string; readonly key: string };

function routesOf(reading: Reading): ApiRoute[] {
  return Object.entries(reading.template.Resources).flatMap(([logicalId, { Type }]) => {
    if (Type !== "AWS::ApiGatewayV2::Route") return [];
    const properties = ifPlayable(() => isDeclared(reading, logicalId) && propertiesOf(reading, logicalId));
    if (!properties || properties instanceof LocalError) return [];
    return [{ api: String(properties.ApiId), key: String(properties.RouteKey) }];
  });
}

function describeOtherApis(routes: readonly ApiRoute[], playedApi: string | undefined): string[] {
  const others = Map.groupBy(routes, ({ api }) => api);
  others.delete(playedApi ?? "");
  return [...others].map(
    ([api, some]) =>
      `the API ${api} with ${some.map(({ key }) => key).join(", ")}: the local stack has one address, so it plays only the API ${playedApi}`,
  );
}
