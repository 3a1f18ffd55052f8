import { brokenIn, type Check } from "../../src/core/check.ts";
import type { Duration } from "../../src/general/times.ts";
import { type Names, unknownNames } from "../../src/general/unknown-names.ts";
import { shown } from "../checks/check.ts";
import { nameCheck } from "../checks/names.ts";
import type { ApiProps, DelayQueueProps } from "../props.ts";

/** A text, or the name of the template's parameter whose value is the text. */
export type TextOrParameter = string | { readonly parameter: string };

export type TargetConfig = {
  /** The ARN of the function. It may be that of an alias or a version. */
  readonly arn: TextOrParameter;
  /** How long the function may run: no less than its own timeout, and 1 second to 14 minutes and 20 seconds. */
  readonly timeout: Duration;
  /**
   * The function's code on this machine, in Python or JavaScript, which `minutehand local` runs in place of the function. `functions/send.handler`
   * is the function `handler` of `functions/send.py` or `functions/send.mjs`. The path begins at the folder of this file. The template does not contain the code.
   */
  readonly localHandler?: string;
};

type ForCdk = "api" | "table" | "eventBus" | "encryptionKey" | "alarmTopic" | "topicsFile";

/** What the file of `minutehand template` has in place of the CDK's objects, and beside the props of a queue. */
export type OwnConfig = {
  /** The address of the JSON Schema of this file, for editors. */
  readonly $schema?: string;
  /**
   * The name of the CloudFormation stack, which the descriptions of the alarms repeat. You give it again when you deploy. A local stack does
   * not use it.
   * @default "Minutehand"
   */
  readonly stackName?: string;
  /** The functions that run the jobs of topics, by the topics' names: functions in any language, which the template does not contain. */
  readonly targets?: { readonly [topic: string]: TargetConfig };
  /** The files whose `handler` runs the jobs of topics, by the topics' names. A path begins at the folder of this file. */
  readonly handlers?: { readonly [topic: string]: string };
  /** The HTTP API. Authorizers other than IAM need the CDK. */
  readonly api?: Omit<ApiProps, "authorizer" | "scopes">;
  /** The name of an existing table to use instead of a new one. */
  readonly table?: TextOrParameter;
  /**
   * The name of the event bus. `cancelOn` and `enqueueOn` take its events, and it gets those of `notify`.
   * @default the account's default bus
   */
  readonly eventBus?: TextOrParameter;
  /** The ARN of your KMS key, which encrypts a new table, the queues and the secrets of webhooks. */
  readonly encryptionKey?: TextOrParameter;
  /** The ARN of the SNS topic that the alarms notify. */
  readonly alarmTopic?: TextOrParameter;
};

/** What `minutehand template` reads from its file: the props of a queue, with names and ARNs in place of the CDK's objects. */
export type PlainConfig = Omit<DelayQueueProps, ForCdk> & OwnConfig;

const NAMES: Names<PlainConfig> = {
  ...{
    $schema: true,
    stackName: true,
    topics: true,
    targets: true,
    handlers: true,
    schedules: true,
    prefix: true,
  },
  ...{ shards: true, table: true, maxThroughput: true, tickSweepers: true, tickConcurrency: true },
  ...{ maximumConcurrency: true, tracing: true, retention: true, deadRetention: true, longDelay: true },
  ...{ maxFiledPerChain: true, eventBus: true, encryptionKey: true, api: true, alarmTopic: true },
  ...{ runbookUrl: true, dashboard: true, topicMetrics: true, removable: true },
};
export const CONFIG_NAMES: readonly string[] = Object.keys(NAMES);
const API: Names<NonNullable<PlainConfig["api"]>> = {
  ...{ auth: true, throttlingRate: true, throttlingBurst: true, receiveConcurrency: true },
};
const TARGET: Names<TargetConfig> = { arn: true, timeout: true, localHandler: true };
export const TARGET_NAMES: readonly string[] = Object.keys(TARGET);
const TEXTS = ["table", "eventBus", "encryptionKey", "alarmTopic"] as const;
const FLAGS = ["tracing", "dashboard", "removable"] as const;
export const DEFAULT_STACK = "Minutehand";
/** "Stack name", AWS CloudFormation User Guide. */
const STACK_NAME = /^[A-Za-z][A-Za-z0-9-]{0,127}$/;
/** "Parameters", AWS CloudFormation User Guide. */
const PARAMETER = /^[A-Za-z0-9]{1,255}$/;

/**
 * Answers what is wrong with the forms that only this file has, a line for each fault. The construct checks the rest.
 *
 * @param given the value of the file's JSON
 * @param isLocal whether only this machine runs the config
 */
export function configFaults(given: unknown, isLocal = false): string[] {
  if (!isObject(given)) return ["it must be a JSON object with topics"];
  const config = given as PlainConfig;
  const targets = Object.entries(Object(config.targets) as NonNullable<PlainConfig["targets"]>);
  const unknown = [
    ...unknownNames("the file", "property", config, CONFIG_NAMES),
    ...unknownNames("api", "property", config.api, Object.keys(API)),
    ...targets.flatMap(([topic, target]) =>
      unknownNames(`targets.${topic}`, "property", target, TARGET_NAMES),
    ),
  ];
  if (unknown.length > 0) return unknown;
  const objects = ["topics", "targets", "handlers", "schedules", "api", "maxThroughput"] as const;
  const { stackName = DEFAULT_STACK } = config;
  return brokenIn(
    [
      {
        holds: typeof stackName === "string" && STACK_NAME.test(stackName),
        rule: "stackName must be the name of a stack",
        actual: stackName,
        allowed: "a letter, then letters, digits and -, at most 128",
      },
      ...objects.map((name) => objectCheck(name, config[name] === undefined ? {} : config[name])),
      ...FLAGS.map((name) => flagCheck(name, config[name])),
      ...inside("topics", config.topics),
      ...inside("schedules", config.schedules),
      ...inside("targets", config.targets),
      ...TEXTS.flatMap((name) => [
        textCheck(name, config[name] === undefined ? "" : config[name]),
        // The construct checks these too, but the errors of the CDK, which makes its props, come first.
        nameCheck(name, name, config[name]),
      ]),
      ...targets.flatMap(([topic, target]) => targetChecks(`targets.${topic}`, Object(target), isLocal)),
      ...Object.entries(Object(config.handlers)).map(([topic, file]) => fileCheck(topic, file)),
    ],
    shown,
  );
}

/**
 * Answers the config for a stack on this machine: with a new table, and with names in the place of parameters, which nobody gives there. It has no
 * `stackName`: the table and the secrets have their names from the stack's, so another name would hide all jobs, and give receivers another secret.
 */
export function localConfig({ table: _, stackName: __, ...config }: PlainConfig): PlainConfig {
  const { targets = {}, eventBus, encryptionKey, alarmTopic } = config;
  return {
    ...config,
    targets: mapTargets(targets, (target) => ({
      ...target,
      arn: textOr("lambda", "function:", target.arn),
    })),
    ...(eventBus && { eventBus: typeof eventBus === "string" ? eventBus : eventBus.parameter }),
    ...(encryptionKey && { encryptionKey: textOr("kms", "key/", encryptionKey) }),
    ...(alarmTopic && { alarmTopic: textOr("sns", "", alarmTopic) }),
  };
}

/** Answers the config for a deployment: without the code that only this machine runs. */
export function deployedConfig({ targets = {}, ...config }: PlainConfig): PlainConfig {
  return { ...config, targets: mapTargets(targets, ({ arn, timeout }) => ({ arn, timeout })) };
}

function mapTargets(
  targets: NonNullable<PlainConfig["targets"]>,
  map: (target: TargetConfig) => TargetConfig,
): NonNullable<PlainConfig["targets"]> {
  return Object.fromEntries(Object.entries(targets).map(([topic, target]) => [topic, map(target)]));
}

function textOr(service: string, kind: string, given: TextOrParameter): string {
  if (typeof given === "string") return given;
  return `arn:aws:${service}:us-east-1:000000000000:${kind}${given.parameter}`;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function objectCheck(at: string, actual: unknown): Check {
  return { holds: isObject(actual), rule: `${at} must be an object`, actual, allowed: "{ … }" };
}

function inside(at: string, values: unknown): Check[] {
  return Object.entries(Object(values)).map(([name, value]) => objectCheck(`${at}.${name}`, value));
}

function targetChecks(
  at: string,
  { arn, timeout, localHandler }: Readonly<Record<string, unknown>>,
  isLocal: boolean,
): Check[] {
  const handler = {
    holds: localHandler === undefined || typeof localHandler === "string",
    rule: `${at}.localHandler must name a file and its function`,
    actual: localHandler,
    allowed: "text such as functions/send.handler",
  };
  const time = {
    holds: timeout !== undefined,
    rule: `${at}.timeout must be given`,
    actual: timeout,
    allowed: 'a duration such as "1m", no less than the timeout of the function',
  };
  // This machine does not read the ARN of a function whose code it has.
  const isRead = !isLocal || localHandler === undefined;
  return [
    textCheck(`${at}.arn`, arn),
    nameCheck(`${at}.arn`, "target", isRead ? arn : undefined),
    time,
    handler,
  ];
}

function fileCheck(topic: string, file: unknown): Check {
  const rule = `handlers.${topic} must be the path of a file`;
  const holds = typeof file === "string" && !file.endsWith(".py");
  return {
    holds,
    rule,
    actual: file,
    allowed:
      "text that names a file in TypeScript or JavaScript. Code in Python is an entry of targets, with localHandler",
  };
}

/** Text such as "no" would be taken for true. */
function flagCheck(at: string, actual: unknown): Check {
  const holds = actual === undefined || typeof actual === "boolean";
  return { holds, rule: `${at} must be true or false`, actual, allowed: "a value without quotes" };
}

function textCheck(at: string, actual: unknown): Check {
  const isParameter =
    isObject(actual) &&
    Object.keys(actual).join() === "parameter" &&
    PARAMETER.test(String((actual as { parameter: unknown }).parameter));
  return {
    holds: typeof actual === "string" || isParameter,
    rule: `${at} must be text, or name a parameter of the template`,
    actual,
    allowed: 'such as { "parameter": "AlarmTopicArn" }, with letters and digits',
  };
}
