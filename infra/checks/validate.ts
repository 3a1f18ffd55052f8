import { Token } from "aws-cdk-lib";
import {
  brokenIn,
  type Check,
  oneOf,
  onlyFor,
  wholeNumber,
  wholeNumberOrFalse,
} from "../../src/core/check.ts";
import { DAY, LEAST_RETENTION, MAX_SHARDS, MOST_SWEEPERS } from "../../src/core/constants.ts";
import { windowFault } from "../../src/cron/window.ts";
import { unknownNames } from "../../src/general/unknown-names.ts";
import { eventChecks } from "../../src/settings/event-checks.ts";
import { formChecks } from "../../src/settings/form-checks.ts";
import { TOPIC_METRICS } from "../../src/settings/metrics.ts";
import { PREFIX, PREFIX_RULE } from "../../src/settings/prefix.ts";
import { topicChecks } from "../../src/settings/topic-checks.ts";
import { inSeconds, SETTINGS } from "../../src/settings/topic-settings.ts";
import { unknownSettings } from "../../src/settings/unknown-settings.ts";
import { isOfCdk, secondsOf } from "../app-duration.ts";
import { MOST_DASHBOARD_TOPICS } from "../monitoring/dashboard.ts";
import type { ApiProps, ApiScopes, DelayQueueProps, MaxThroughputProps, TopicProps } from "../props.ts";
import { days, shown } from "./check.ts";
import { namesChecks } from "./names.ts";
import { scheduleChecks, unknownScheduleProps } from "./schedule-checks.ts";

const LONGEST_RETENTION_DAYS = 3650;
/** The rest of an alarm's description needs room too: it may have 1,024 characters ("PutMetricAlarm", CloudWatch API Reference). */
const LONGEST_RUNBOOK_URL = 200;
/** Far more than the 40,000 units that AWS allows for a table by default. */
const MOST_UNITS = 1_000_000;
/** With less, DynamoDB might never take the largest transaction of a job, nor answer the largest page. */
const LEAST_MAX_UNITS = 500;
/** Of a route ("Quotas for configuring and running an HTTP API in API Gateway", Amazon API Gateway Developer Guide). */
const MOST_SCOPES = 10;
/** `AuthorizationScopes` of "CreateRoute", Amazon API Gateway Version 2 API Reference. */
const LONGEST_SCOPE = 64;
const READING = { secondsOf, isKnown: (text: string) => !Token.isUnresolved(text) };

const PROPS: { readonly [Name in keyof DelayQueueProps]-?: true } = {
  ...{ topics: true, prefix: true, shards: true, table: true, tickConcurrency: true },
  ...{ maximumConcurrency: true, tracing: true, retention: true, deadRetention: true, longDelay: true },
  ...{ eventBus: true, encryptionKey: true, api: true, alarmTopic: true, runbookUrl: true, dashboard: true },
  ...{ topicMetrics: true, removable: true, topicsFile: true, maxThroughput: true, tickSweepers: true },
  ...{ schedules: true, maxFiledPerChain: true },
};
const API_PROPS: { readonly [Name in keyof ApiProps]-?: true } = {
  ...{ auth: true, authorizer: true, scopes: true },
  ...{ throttlingRate: true, throttlingBurst: true, receiveConcurrency: true },
};
const SCOPE_GROUPS: readonly (keyof ApiScopes)[] = ["read", "write", "operate"];
/** Props of an earlier version, each with what replaces it. Only plain JavaScript can still give them. */
const REMOVED: Readonly<Record<string, string>> = {
  // DynamoDB lowers no warm throughput, so CloudFormation could not roll a deployment back.
  warmThroughput: 'the prop warmThroughput is gone: warm the deployed table with "minutehand warm"',
};
const MAX_PROPS: { readonly [Name in keyof MaxThroughputProps]-?: true } = { read: true, write: true };

/** The error names each unknown prop, or else each broken rule, the value and what is allowed. */
export function validate(path: string, props: DelayQueueProps): void {
  const unknown = unknownProps(props);
  // The checks below read the props by their names.
  if (unknown.length > 0) throw invalid(path, unknown);
  const checks = [
    ...queueChecks(props),
    ...namesChecks(props),
    ...apiChecks(props.api ?? {}),
    ...scheduleChecks(path, props),
  ];
  for (const [name, topic] of Object.entries(props.topics ?? {})) {
    const at = `topics.${name}`;
    const forms = formChecks(at, topic, isOfCdk);
    checks.push(...forms);
    if (!forms.every(({ holds }) => holds)) continue;
    checks.push(
      ...topicChecks(name, inSeconds(topic, secondsOf), windowFault),
      retryingCheck(at, topic, props.topicMetrics),
      ...eventChecks(at, topic, READING),
    );
  }
  const broken = brokenIn(checks, shown);
  if (broken.length > 0) throw invalid(path, broken);
}

export function invalid(path: string, lines: readonly string[]): Error {
  return new Error(`DelayQueue ${path} has invalid props:\n${lines.map((line) => `  ${line}`).join("\n")}`);
}

/** Only plain JavaScript can give an unknown name. */
function unknownProps(props: DelayQueueProps): string[] {
  const settings = SETTINGS.map(([name]) => name);
  const topics = Object.entries(props.topics ?? {});
  const present = Object.fromEntries(Object.entries(props).filter(([name]) => !(name in REMOVED)));
  return [
    ...Object.keys(props).flatMap((name) => REMOVED[name] ?? []),
    ...unknownNames("the queue", "prop", present, Object.keys(PROPS)),
    ...unknownNames("api", "prop", props.api, Object.keys(API_PROPS)),
    ...unknownNames("api.scopes", "prop", props.api?.scopes, SCOPE_GROUPS),
    ...unknownNames("maxThroughput", "prop", props.maxThroughput, Object.keys(MAX_PROPS)),
    ...unknownScheduleProps(props.schedules),
    ...topics.flatMap(([name, topic]) => unknownSettings(`topics.${name}`, topic, settings)),
  ];
}

function queueChecks(props: DelayQueueProps): Check[] {
  const { prefix, shards, retention, deadRetention, longDelay, topics } = props;
  return [
    {
      // Plain JavaScript may leave the prop out.
      holds: Object.keys(topics ?? {}).length > 0,
      rule: "topics must name at least one topic",
      actual: topics,
      allowed: "1 or more",
    },
    {
      holds: prefix === undefined || (typeof prefix === "string" && PREFIX.test(prefix)),
      rule: "prefix must fit into the name of a queue",
      actual: prefix,
      allowed: PREFIX_RULE,
    },
    wholeNumber("shards", shards, 1, MAX_SHARDS),
    ...throughputChecks(props),
    wholeNumber("tickSweepers", props.tickSweepers, 0, MOST_SWEEPERS),
    wholeNumber("tickConcurrency", props.tickConcurrency, 1, MOST_SWEEPERS + 1),
    wholeNumberOrFalse("maxFiledPerChain", props.maxFiledPerChain, 100, 10_000_000),
    wholeNumberOrFalse("maximumConcurrency", props.maximumConcurrency, 2, 1000),
    {
      holds: props.dashboard !== true || Object.keys(topics ?? {}).length <= MOST_DASHBOARD_TOPICS,
      rule: "dashboard is allowed for a queue that its graphs can show",
      actual: `${Object.keys(topics ?? {}).length} topics`,
      allowed: `at most ${MOST_DASHBOARD_TOPICS} topics`,
    },
    ...metricChecks(props.topicMetrics),
    {
      holds: isAddress(props.runbookUrl),
      rule: "runbookUrl must be the address of a page",
      actual: props.runbookUrl,
      allowed: `an http or https URL of at most ${LONGEST_RUNBOOK_URL} characters`,
    },
    days("retention", retention, LEAST_RETENTION / DAY, LONGEST_RETENTION_DAYS),
    days("deadRetention", deadRetention, 14, LONGEST_RETENTION_DAYS),
    days("longDelay", longDelay === false ? undefined : longDelay, 1, LONGEST_RETENTION_DAYS),
  ];
}

function throughputChecks({ table, maxThroughput }: DelayQueueProps): Check[] {
  const isNew = table === undefined;
  return [
    onlyFor("a new table", isNew, "maxThroughput", maxThroughput),
    wholeNumber("maxThroughput.read", maxThroughput?.read, LEAST_MAX_UNITS, MOST_UNITS),
    wholeNumber("maxThroughput.write", maxThroughput?.write, LEAST_MAX_UNITS, MOST_UNITS),
  ];
}

function metricChecks(topicMetrics: DelayQueueProps["topicMetrics"] = []): Check[] {
  if (Array.isArray(topicMetrics))
    return topicMetrics.map((name, i) => oneOf(`topicMetrics[${i}]`, name, TOPIC_METRICS));
  const allowed = 'an array, such as ["Lateness"]';
  return [{ holds: false, rule: "topicMetrics must be a list of names", actual: topicMetrics, allowed }];
}

/** The alarm `Retrying` watches a metric of the topic. Without the metric it would never ring. */
function retryingCheck(
  at: string,
  { alarms }: TopicProps,
  topicMetrics: DelayQueueProps["topicMetrics"],
): Check {
  const isWritten = topicMetrics?.includes("Failed") ?? true;
  return {
    holds: isWritten || !alarms?.includes("Retrying"),
    rule: `topicMetrics must have the metric of the alarm Retrying of ${at}`,
    actual: topicMetrics,
    allowed: 'a list with "Failed"',
  };
}

function isAddress(url: string | undefined): boolean {
  if (url === undefined || Token.isUnresolved(url)) return true;
  return (
    typeof url === "string" && url.length <= LONGEST_RUNBOOK_URL && /^https?:/.test(url) && URL.canParse(url)
  );
}

function apiChecks(api: ApiProps): Check[] {
  return [
    oneOf("api.auth", api.auth, ["iam", "none"]),
    ...authorizerChecks(api),
    wholeNumber("api.throttlingRate", api.throttlingRate, 1, 10_000),
    wholeNumber("api.throttlingBurst", api.throttlingBurst, 1, 5_000),
    wholeNumber("api.receiveConcurrency", api.receiveConcurrency, 1, 1_000),
  ];
}

function authorizerChecks({ auth, authorizer, scopes }: ApiProps): Check[] {
  return [
    {
      holds: authorizer === undefined || auth === undefined,
      rule: "api.auth must be left out beside api.authorizer",
      actual: auth,
      allowed: "nothing here",
    },
    {
      holds: authorizer === undefined || typeof authorizer.bind === "function",
      rule: "api.authorizer must be an authorizer of the CDK",
      actual: typeof authorizer,
      allowed: "an object with the method bind",
    },
    onlyFor("an API with api.authorizer", authorizer !== undefined, "api.scopes", scopes),
    ...(scopes === undefined ? [] : SCOPE_GROUPS).map((group) => ({
      holds: areScopes(scopes?.[group]),
      rule: `api.scopes.${group} must list scopes of tokens`,
      actual: scopes?.[group],
      allowed: `1 to ${MOST_SCOPES} texts of 1 to ${LONGEST_SCOPE} characters without spaces`,
    })),
  ];
}

function areScopes(scopes: readonly string[] | undefined): boolean {
  const isScope = (scope: string) =>
    Token.isUnresolved(scope) ||
    (typeof scope === "string" && /^[^\s]+$/.test(scope) && scope.length <= LONGEST_SCOPE);
  return Array.isArray(scopes) && scopes.length >= 1 && scopes.length <= MOST_SCOPES && scopes.every(isScope);
}
