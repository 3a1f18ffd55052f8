import { Aws, Duration, Stack, Token } from "aws-cdk-lib";
import { HttpJwtAuthorizer } from "aws-cdk-lib/aws-apigatewayv2-authorizers";
import { Table } from "aws-cdk-lib/aws-dynamodb";
import { EventBus } from "aws-cdk-lib/aws-events";
import { Key } from "aws-cdk-lib/aws-kms";
import { Topic } from "aws-cdk-lib/aws-sns";
import { describe, expect, it } from "vitest";
import { validate } from "../../../infra/checks/validate.ts";
import type { DelayQueueProps, TopicProps } from "../../../infra/props.ts";

const topics = { work: {} };
const SURVIVOR = Table.fromTableName(new Stack(), "Survivor", "Shop-JobsPoolTable-1ABC");

function inTopic(topic: TopicProps): DelayQueueProps {
  return { topics: { work: topic } };
}

const LOGIN = new HttpJwtAuthorizer("Login", "https://login.example.com", { jwtAudience: ["jobs"] });
const SCOPES = { read: ["jobs/read"], write: ["jobs/write"], operate: ["jobs/operate"] };

const PAID = { detailType: "OrderPaid", key: "$.detail.orderId" };
const CANCELLING = { ...PAID, detailType: "OrderPlaced" };
const PLACED = { ...CANCELLING, delay: Duration.minutes(30) };

/** Unknown names that TypeScript refuses, but that plain JavaScript can give. */
const UNKNOWN: readonly [object, string][] = [
  [
    { topicz: topics },
    'the queue has an unknown prop "topicz" (did you mean "topics"?); allowed are topics, prefix, shards, ',
  ],
  [
    { topics, api: { auht: "iam" } },
    'api has an unknown prop "auht" (did you mean "auth"?); allowed are auth, ',
  ],
  [
    { topics, api: { authorizer: LOGIN, scopes: { ...SCOPES, reads: ["x"] } } },
    'api.scopes has an unknown prop "reads" (did you mean "read"?); allowed are read, write, operate',
  ],
  [
    { topics, warmThroughput: { write: 4_000 } },
    'the prop warmThroughput is gone: warm the deployed table with "minutehand warm"',
  ],
  [
    { topics, maxThroughput: { reads: 1 } },
    'maxThroughput has an unknown prop "reads" (did you mean "read"?)',
  ],
  [
    { topics, schedules: { nightly: { topic: "work", timezon: "UTC" } } },
    'schedules.nightly has an unknown prop "timezon" (did you mean "timezone"?)',
  ],
  [{ topics, color: "red" }, 'the queue has an unknown prop "color"; allowed are topics, '],
  [
    { topics: { work: { maxAttempt: 3 } } },
    'topics.work has an unknown setting "maxAttempt" (did you mean "maxAttempts"?); allowed are consumer, ',
  ],
  [
    { topics: { work: { retries: 3 } } },
    'topics.work has an unknown setting "retries" (did you mean "maxAttempts"?); allowed are consumer, ',
  ],
  [
    { topics: { work: { webhook: { allowHost: [] } } } },
    'topics.work.webhook has an unknown setting "allowHost" (did you mean "allowHosts"?)',
  ],
  [
    { topics: { work: { backoff: { exponential: { first: 1 } } } } },
    'topics.work.backoff.exponential has an unknown setting "first"; allowed are initial, factor, max, jitter',
  ],
  [
    { topics: { work: { pollers: { min: 2, maxi: 2 } } } },
    'topics.work.pollers has an unknown setting "maxi" (did you mean "max"?)',
  ],
  [
    { topics: { work: { ifLate: { afters: 1 } } } },
    'topics.work.ifLate has an unknown setting "afters" (did you mean "after"?)',
  ],
  [
    { topics: { work: { cancelOn: [PAID, { ...PAID, tombstones: 1 }] } } },
    'topics.work.cancelOn has an unknown setting "tombstones" (did you mean "tombstone"?)',
  ],
  [
    { topics: { work: { enqueueOn: { ...PLACED, deley: 1 } } } },
    'topics.work.enqueueOn has an unknown setting "deley" (did you mean "delay"?)',
  ],
];

describe("an unknown name", () => {
  it.each(UNKNOWN)("is refused: %j", (props, message) => {
    expect(() => validate("Shop/Jobs", props as never)).toThrow(
      `DelayQueue Shop/Jobs has invalid props:\n  ${message}`,
    );
  });

  it("is ignored if its value is undefined", () => {
    expect(() => validate("Shop/Jobs", { topics, topicz: undefined } as never)).not.toThrow();
  });
});

/** Settings that TypeScript refuses, but that a JSON file can give. */
const WRONG_TYPES: readonly [object, string][] = [
  [
    { webhook: "https://example.com/hook" },
    'topics.work.webhook must be an object, is "https://example.com/hook"; allowed: such as {"url": "https://example.com/hook"}',
  ],
  [{ webhook: true }, "topics.work.webhook must be an object, is true"],
  [{ webhook: ["x"] }, 'topics.work.webhook must be an object, is ["x"]'],
  [{ webhook: null }, "topics.work.webhook must be an object, is null"],
  [{ webhook: { url: 5 } }, "topics.work.webhook.url must be text, is 5"],
  [{ webhook: { allowHttp: "no" } }, 'topics.work.webhook.allowHttp must be true or false, is "no"'],
  [
    { webhook: { allowHosts: "127.0.0.1" } },
    'topics.work.webhook.allowHosts must be a list, is "127.0.0.1"; allowed: such as ["hooks.example.com"]',
  ],
  [{ webhook: { onlyHosts: [1] } }, "topics.work.webhook.onlyHosts[0] must be text, is 1"],
  [{ webhook: { ports: 443 } }, "topics.work.webhook.ports must be a list, is 443; allowed: such as [443]"],
  [
    { cancelOn: "OrderPaid" },
    'topics.work.cancelOn must be an object or a list, is "OrderPaid"; allowed: such as {"detailType": "OrderPaid", "key": "$.detail.orderId"}',
  ],
  [{ enqueueOn: ["OrderPlaced"] }, 'topics.work.enqueueOn[0] must be an object, is "OrderPlaced"'],
  [{ window: 9 }, 'topics.work.window must be text, is 9; allowed: such as "09:00-18:00 Asia/Shanghai"'],
  [{ ifLate: "skip" }, 'topics.work.ifLate must be an object, is "skip"; allowed: such as {"after": "1h",'],
  [
    { pollers: null },
    'topics.work.pollers must be an object or true or false, is null; allowed: such as {"min": 2, "max": 20}, or false',
  ],
  ...["consumer", "tracking", "precision"].map((name): [object, string] => [
    { [name]: null },
    `topics.work.${name} must be one of the allowed values, is null`,
  ]),
  ...["concurrency", "maxAttempts", "pack", "maxFiledPerMinute"].map((name): [object, string] => [
    { [name]: "5" },
    `topics.work.${name} must be a whole number, is "5"`,
  ]),
  ...["notify", "alarms"].map((name): [object, string] => [
    { [name]: null },
    `topics.work.${name} must be a list of`,
  ]),
  [{ maxPerSecond: "5" }, 'topics.work.maxPerSecond must be a number of starts a second, is "5"'],
  [{ spread: null }, "topics.work.spread must be a duration, is null"],
];

const REFUSED: readonly [DelayQueueProps, string][] = [
  [{} as never, "topics must name at least one topic, is undefined; allowed: 1 or more"],
  [{ topics: {} }, "topics must name at least one topic, is {}; allowed: 1 or more"],
  [{ topics: { "Order.Timeout": {} } }, 'is "Order.Timeout"; allowed: 1 to 50 characters of a-z, 0-9 and -'],
  [
    { topics: { ["x".repeat(51)]: {} } },
    `is "${"x".repeat(51)}"; allowed: 1 to 50 characters of a-z, 0-9 and -`,
  ],
  [{ topics: { a_dlq: {} } }, 'is "a_dlq"; allowed: 1 to 50 characters of a-z, 0-9 and -'],
  [{ topics, prefix: "" }, 'is ""; allowed: 1 to 24 letters, digits and -'],
  [{ topics, prefix: "x".repeat(25) }, `is "${"x".repeat(25)}"; allowed: 1 to 24 letters, digits and -`],
  [{ topics, shards: 0 }, "shards must be at least 1, is 0; allowed: 1 to 1024"],
  [{ topics, shards: 1025 }, "shards must be at most 1024, is 1025; allowed: 1 to 1024"],
  [{ topics, shards: 2.5 }, "shards must be a whole number, is 2.5; allowed: 1 to 1024"],
  [
    { topics, retention: Duration.hours(23) },
    "retention must be days, is 0.9583333333333334; allowed: 1 to 3650 days",
  ],
  [
    { topics, deadRetention: Duration.days(13) },
    "deadRetention must be days, is 13; allowed: 14 to 3650 days",
  ],
  [
    { topics, longDelay: Duration.hours(23) },
    "longDelay must be days, is 0.9583333333333334; allowed: 1 to 3650",
  ],
  [{ topics, longDelay: Duration.days(3651) }, "longDelay must be days, is 3651; allowed: 1 to 3650 days"],
  [
    { topics, table: Table.fromTableName(new Stack(), "Table", "a b") },
    'table must be the name of a DynamoDB table, is "a b"; allowed: 3 to 255 letters, digits, _, - and .',
  ],
  [
    { topics, eventBus: EventBus.fromEventBusName(new Stack(), "Bus", "arn:x") },
    'eventBus must be the name of an event bus, is "arn:x"; allowed: 1 to 256 letters, digits, ., -, _ and /',
  ],
  [
    {
      topics,
      alarmTopic: Topic.fromTopicArn(new Stack(), "Topic", "arn:aws:sns:eu-west-1:123456789012:on call"),
    },
    'alarmTopic must be the ARN of an SNS topic, is "arn:aws:sns:eu-west-1:123456789012:on call"; allowed: such as arn:aws:sns:',
  ],
  [
    { topics, encryptionKey: Key.fromKeyArn(new Stack(), "Key", "arn:aws:kms:eu-west-1:1:key/1ab") },
    'encryptionKey must be the ARN of a KMS key, is "arn:aws:kms:eu-west-1:1:key/1ab"; allowed: such as arn:aws:kms:',
  ],
  [
    { topics, api: { throttlingRate: 0 } },
    "api.throttlingRate must be at least 1, is 0; allowed: 1 to 10000",
  ],
  [{ topics, api: { throttlingBurst: 5001 } }, "api.throttlingBurst must be at most 5000, is 5001"],
  [{ topics, tickSweepers: 64 }, "tickSweepers must be at most 63, is 64; allowed: 0 to 63"],
  [
    { topics, maxFiledPerChain: 99 },
    "maxFiledPerChain must be at least 100, is 99; allowed: 100 to 10000000, or false",
  ],
  [{ topics, tickConcurrency: 65 }, "tickConcurrency must be at most 64, is 65; allowed: 1 to 64"],
  [
    { topics, maximumConcurrency: 1 },
    "maximumConcurrency must be at least 2, is 1; allowed: 2 to 1000, or false",
  ],
  [
    { topics, api: { auth: "none", authorizer: LOGIN } },
    'api.auth must be left out beside api.authorizer, is "none"; allowed: nothing here',
  ],
  [
    { topics, api: { authorizer: "jwt" as never } },
    'api.authorizer must be an authorizer of the CDK, is "string"; allowed: an object with the method bind',
  ],
  [{ topics, api: { scopes: SCOPES } }, "api.scopes is allowed for an API with api.authorizer only, is {"],
  [
    { topics, api: { authorizer: LOGIN, scopes: { read: ["a b"], write: [] } as never } },
    [
      'api.scopes.read must list scopes of tokens, is ["a b"]; allowed: 1 to 10 texts of 1 to 64 characters without spaces',
      "  api.scopes.write must list scopes of tokens, is []; allowed: 1 to 10 texts of 1 to 64 characters without spaces",
      "  api.scopes.operate must list scopes of tokens, is undefined; allowed: ",
    ].join("\n"),
  ],
  [
    { topics, api: { receiveConcurrency: 0 } },
    "api.receiveConcurrency must be at least 1, is 0; allowed: 1 to 1000",
  ],
  [
    { topics, maxThroughput: { read: 499 } },
    "maxThroughput.read must be at least 500, is 499; allowed: 500 to 1000000",
  ],
  [
    { topics, maxThroughput: { write: 0 } },
    "maxThroughput.write must be at least 500, is 0; allowed: 500 to 1000000",
  ],
  [
    { topics, table: SURVIVOR, maxThroughput: { write: 500 } },
    'maxThroughput is allowed for a new table only, is {"write":500}; allowed: nothing here',
  ],
  [
    inTopic({ alarms: ["Dead", "Late"] as never }),
    'topics.work.alarms[1] must be one of the allowed values, is "Late"; allowed: Dead or Backlog or Failing or Retrying',
  ],
  [inTopic({ alarms: "Dead" as never }), 'topics.work.alarms must be a list of names, is "Dead"'],
  [
    inTopic({ consumer: "pull", alarms: ["Failing"] }),
    'topics.work.alarms[0] of a pull topic must be one of the allowed values, is "Failing"; allowed: Dead or Backlog or Retrying',
  ],
  [
    inTopic({ consumer: "pull", tracking: "none", alarms: ["Retrying"] }),
    'topics.work.alarms[0] of an untracked pull topic must be one of the allowed values, is "Retrying"; allowed: Dead or Backlog',
  ],
  [
    { ...inTopic({ alarms: ["Dead", "Retrying"] }), topicMetrics: ["Lateness", "Dead"] },
    'topicMetrics must have the metric of the alarm Retrying of topics.work, is ["Lateness","Dead"]; allowed: a list with "Failed"',
  ],
  [inTopic({ pack: 0 }), "topics.work.pack must be at least 1, is 0; allowed: 1 to 10"],
  [inTopic({ pack: 11 }), "topics.work.pack must be at most 10, is 11; allowed: 1 to 10"],
  [inTopic({ consumer: "pull", pack: 2 }), "is 2; allowed: 1 to 1"],
  [
    inTopic({ maxFiledPerMinute: 0 }),
    "topics.work.maxFiledPerMinute must be at least 1, is 0; allowed: 1 to 1000000",
  ],
  [inTopic({ concurrency: 26 }), "topics.work.concurrency must be at most 25, is 26; allowed: 1 to 25"],
  [
    inTopic({ consumer: "pull", concurrency: 2 }),
    "is allowed for a Lambda consumer only, is 2; allowed: nothing here",
  ],
  [inTopic({ maxPerSecond: 0 }), "is 0; allowed: a whole number from 1 to 1000, or a number from 1/60 to 1"],
  [inTopic({ maxPerSecond: 1.5 }), "topics.work.maxPerSecond must be a number of starts a second, is 1.5"],
  [
    inTopic({ maxPerSecond: 1001 }),
    "is 1001; allowed: a whole number from 1 to 1000, or a number from 1/60 to 1",
  ],
  [
    inTopic({ window: "9-18 Asia/Shanghai" }),
    'topics.work.window must be a range of hours, is "9-18 Asia/Shanghai"; allowed: two different times of day',
  ],
  [inTopic({ window: "09:00-09:00 UTC" }), 'must be a range of hours, is "09:00-09:00 UTC"'],
  [
    inTopic({ window: "09:00-18:00 Mars/Olympus" }),
    'must be a range of hours, is "09:00-18:00 Mars/Olympus"',
  ],
  [
    inTopic({ tracking: "none", ifLate: { after: Duration.minutes(1), do: "skip" } }),
    'topics.work.ifLate needs a tracked topic: the jobs of an untracked topic only run, are retried, or fail, is "none"; allowed: tracking "full"',
  ],
  [inTopic({ tracking: "none", maxPerSecond: 2 }), "topics.work.maxPerSecond needs a tracked topic: "],
  [inTopic({ tracking: "none", window: "09:00-18:00 UTC" }), "topics.work.window needs a tracked topic: "],
  [
    inTopic({ ifLate: { after: Duration.millis(1500), do: "skip" } }),
    "topics.work.ifLate.after must be whole seconds, is 1.5; allowed: 1 to 316224000 seconds",
  ],
  [
    inTopic({ ifLate: { after: Duration.minutes(1), do: "drop" as "skip" } }),
    'topics.work.ifLate.do must be one of the allowed values, is "drop"; allowed: run or skip or expire',
  ],
  [inTopic({ maximumConcurrency: 1 }), "is 1; allowed: 2 to 1000, or false"],
  [inTopic({ consumer: "pull", maximumConcurrency: 5 }), "is allowed for a Lambda consumer only, is 5"],
  [
    inTopic({ consumer: "pull", pollers: { min: 2, max: 2 } }),
    'topics.work.pollers is allowed for a Lambda consumer only, is {"min":2,"max":2}; allowed: nothing here',
  ],
  [
    inTopic({ maximumConcurrency: 5, pollers: false }),
    "topics.work.pollers is allowed for a topic without maximumConcurrency only, is false",
  ],
  [
    inTopic({ maximumConcurrency: 5, pollers: { min: 2, max: 2 } }),
    'topics.work.pollers is allowed for a topic without maximumConcurrency only, is {"min":2,"max":2}',
  ],
  [
    inTopic({ pollers: { min: 1, max: 2 } }),
    "topics.work.pollers.min must be at least 2, is 1; allowed: 2 to 200",
  ],
  [
    inTopic({ pollers: { min: 201, max: 300 } }),
    "pollers.min must be at most 200, is 201; allowed: 2 to 200",
  ],
  [
    inTopic({ pollers: { min: 2.5, max: 3 } }),
    "pollers.min must be a whole number, is 2.5; allowed: 2 to 200",
  ],
  [
    inTopic({ pollers: { min: 5, max: 4 } }),
    "topics.work.pollers.max must be at least 5, is 4; allowed: 5 to 2000",
  ],
  [
    inTopic({ pollers: { min: 2, max: 2001 } }),
    "pollers.max must be at most 2000, is 2001; allowed: 2 to 2000",
  ],
  [
    inTopic({ pollers: { max: 20 } as never }),
    "pollers.min must be a whole number, is undefined; allowed: 2 to",
  ],
  [
    inTopic({ pollers: { min: 9 } as never }),
    "pollers.max must be a whole number, is undefined; allowed: 9 to",
  ],
  [inTopic({ maxAttempts: 0 }), "topics.work.maxAttempts must be at least 1, is 0; allowed: 1 to 100"],
  [inTopic({ maxAttempts: 101 }), "is 101; allowed: 1 to 100"],
  [
    inTopic({ ttr: Duration.seconds(30) }),
    "ttr is allowed for a pull topic only, is 30; allowed: nothing here",
  ],
  [inTopic({ consumer: "pull", ttr: Duration.hours(13) }), "is 46800; allowed: 1 to 43200 seconds"],
  [inTopic({ consumer: "pull", ttr: Duration.millis(1500) }), "is 1.5; allowed: 1 to 43200 seconds"],
  [inTopic({ oldestMessageAge: Duration.days(11) }), "is 950400; allowed: 60 to 864000 seconds"],
  [inTopic({ backoff: [] }), 'is "0 waits"; allowed: 1 to 100 waits'],
  [
    inTopic({ backoff: "15s" as never }),
    'topics.work.backoff must be a list of waits, or exponential, is "15s"; allowed: such as ["15s", "3m"], or { exponential: {',
  ],
  [
    inTopic({ backoff: { waits: [15] } as never }),
    'must be a list of waits, or exponential, is {"waits":[15]}; allowed: such as ["15s", "3m"]',
  ],
  [
    inTopic({ backoff: [null as never] }),
    "topics.work.backoff[0] must be a duration, is null; allowed: a number of seconds (0 or more), or a text such as",
  ],
  [
    inTopic({ backoff: ["15" as never] }),
    'topics.work.backoff[0] must be a duration, is "15"; allowed: a number of seconds (0 or more), or a text such as "90s"',
  ],
  [inTopic({ backoff: new Array<number>(1) }), "topics.work.backoff[0] must be a duration, is undefined"],
  [
    inTopic({
      backoff: { exponential: { initial: "1" as never, factor: 2, max: 60, jitter: null as never } },
    }),
    'topics.work.backoff.exponential.initial must be a duration, is "1"',
  ],
  [
    inTopic({ backoff: { exponential: { jitter: null as never } } }),
    "topics.work.backoff.exponential.jitter must be a number, is null",
  ],
  [
    inTopic({ backoff: [40_000_000] }),
    'topics.work.backoff[0] must be a duration, is 40000000; allowed: at most 31622400 as a number, which is seconds (did you mean milliseconds?), or a text with its unit, such as "400d"',
  ],
  [
    inTopic({ ifLate: { after: 40_000_000, do: "skip" }, spread: "ten" as "10s" }),
    "topics.work.ifLate.after must be a duration, is 40000000; allowed: at most 31622400",
  ],
  [
    inTopic({ ttr: "30 seconds" as "30s" }),
    'topics.work.ttr must be a duration, is "30 seconds"; allowed: a number of',
  ],
  [
    { topics: {}, retention: 90_000_000_000 },
    "retention must be a duration, is 90000000000; allowed: at most 31622400",
  ],
  [
    { topics: {}, longDelay: "7 days" as "7d" },
    'longDelay must be a duration, is "7 days"; allowed: a number of seconds',
  ],
  [
    inTopic({ backoff: [Duration.seconds(15), Duration.days(4000)] }),
    "topics.work.backoff[1] must be at most 316224000 s, is 345600000; allowed: 0 to 316224000",
  ],
  [
    inTopic({
      backoff: {
        exponential: { initial: Duration.minutes(10), factor: 2, max: Duration.minutes(5), jitter: 0 },
      },
    }),
    "topics.work.backoff.exponential.max must be at least 600 s, is 300; allowed: 600 to",
  ],
  [inTopic({ maxPerSecond: "0.5" as never }), 'maxPerSecond must be a number of starts a second, is "0.5"'],
  [inTopic({ window: "09:00-18:00 BST" }), 'must be a range of hours, is "09:00-18:00 BST"'],
  [inTopic({ window: "09:00-18:00 europe/berlin" }), "did you mean Europe/Berlin"],
  [
    inTopic({ backoff: null as never }),
    "topics.work.backoff must be a list of waits, or exponential, is null",
  ],
  [
    inTopic({ backoff: [15, -1] }),
    "topics.work.backoff[1] must be a duration, is -1; allowed: a number of seconds (0 or more), or a text such as",
  ],
  [
    inTopic({ backoff: { exponential: { initial: 10, factor: 0.5, max: 60, jitter: 0 } } }),
    "factor must be at least 1, is 0.5",
  ],
  [
    inTopic({ backoff: { exponential: { initial: 10, factor: 2, max: 5, jitter: 0 } } }),
    "max must be at least 10 s, is 5; allowed: 10 to",
  ],
  [
    inTopic({ backoff: { exponential: { initial: 10, factor: 2, max: 60, jitter: 1.1 } } }),
    "is 1.1; allowed: 0 to 1",
  ],
  ...WRONG_TYPES.map(([topic, message]): [DelayQueueProps, string] => [inTopic(topic as never), message]),
  [{ topics, prefix: 5 as never }, "prefix must fit into the name of a queue, is 5"],
  [{ topics, runbookUrl: 5 as never }, "runbookUrl must be the address of a page, is 5"],
  [
    {
      topics,
      schedules: { nightly: { topic: "work", expression: "@daily", body: 1, paused: "no" as never } },
    },
    'schedules.nightly.paused must be true or false, is "no"; allowed: a value without quotes',
  ],
  [
    inTopic({ webhook: {}, consumer: "pull" }),
    'topics.work.consumer must be left out beside webhook, is "pull"; allowed: consumer or webhook, not both',
  ],
  [inTopic({ webhook: {}, tracking: "none" }), "topics.work.webhook needs a tracked topic: "],
  [inTopic({ webhook: { url: "http://example.com" } }), 'webhook.url must begin with https:, is "http://'],
  [
    inTopic({ webhook: { url: "http://example.com" } }),
    'allowed: this URL too, if you add "allowHttp": true to webhook',
  ],
  [
    inTopic({ webhook: { url: "http://127.0.0.1:8123/close" } }),
    'this URL too, if you add "allowHttp": true, "allowHosts": ["127.0.0.1"] to webhook',
  ],
  [
    inTopic({ webhook: { url: "http://localhost:8123/", allowHttp: true, allowHosts: ["10.0.0.7"] } }),
    'must not lead to this machine, is "http://localhost:8123/"; allowed: this URL too, if you add "allowHosts": ["10.0.0.7","localhost"] to webhook',
  ],
  [
    inTopic({ webhook: { url: "https://other.example", onlyHosts: ["ok.example"] } }),
    "a URL that the webhook topic may call: allowHttp,",
  ],
  [inTopic({ webhook: { url: "https://10.0.0.7/" } }), "lead to a public address"],
  [inTopic({ webhook: { timeout: Duration.seconds(31) } }), "is 31; allowed: 1 to 30 seconds"],
  [inTopic({ webhook: { timeout: Duration.millis(1500) } }), "is 1.5; allowed: 1 to 30 seconds"],
  [
    inTopic({ webhook: { allowHosts: ["ok.example", "Bad.example"] } }),
    'allowHosts[1] must be a host, is "Bad',
  ],
  [inTopic({ webhook: { allowHosts: ["10.0.0.7:8080"] } }), 'must be a host, is "10.0.0.7:8080"'],
  [inTopic({ webhook: { allowHosts: ["fd00::7"] } }), 'must be a host, is "fd00::7"'],
  [inTopic({ webhook: { onlyHosts: ["*.ok.example", "*"] } }), 'onlyHosts[1] must be a host, is "*"'],
  [inTopic({ webhook: { onlyHosts: ["a.*.example"] } }), 'must be a host, is "a.*.example"'],
  [inTopic({ webhook: { ports: [443, 0] } }), "ports[1] must be at least 1, is 0; allowed: 1 to 65535"],
  [
    inTopic({ webhook: { mostAttempts: 101 } }),
    "mostAttempts must be at most 100, is 101; allowed: 1 to 100",
  ],
  [
    inTopic({ spread: Duration.hours(25) }),
    "topics.work.spread must be at most 86400 s, is 90000; allowed: 0 to 86400",
  ],
  [inTopic({ spread: Duration.millis(500) }), "topics.work.spread must be whole seconds, is 0.5"],
  [inTopic({ cancelOn: PAID, tracking: "none" }), "topics.work.cancelOn needs a tracked topic: "],
  [inTopic({ notify: ["dead"], tracking: "none" }), "topics.work.notify needs a tracked topic: "],
  [
    inTopic({ notify: ["done" as "dead"] }),
    'topics.work.notify[0] must be one of the allowed values, is "done"; allowed: completed or failed or dead',
  ],
  [
    inTopic({ notify: "dead" as unknown as ["dead"] }),
    'topics.work.notify must be a list of different names, is "dead"; allowed: an array of 1 to 3 names',
  ],
  [inTopic({ notify: [] }), "topics.work.notify must be a list of different names, is []"],
  [inTopic({ notify: ["dead", "dead"] }), "topics.work.notify must be a list of different names"],
  [inTopic({ enqueueOn: PLACED, tracking: "none" }), "topics.work.enqueueOn needs a tracked topic: "],
  [
    inTopic({ enqueueOn: PLACED, webhook: {} }),
    "enqueueOn needs webhook.url, because an event names no receiver",
  ],
  [
    inTopic({ cancelOn: { ...PAID, detailType: "" } }),
    'topics.work.cancelOn.detailType must be text, is ""; allowed: 1 to 128 characters',
  ],
  [inTopic({ cancelOn: { ...PAID, detailType: "x".repeat(129) } }), "allowed: 1 to 128 characters"],
  [
    inTopic({ cancelOn: { ...PAID, source: Aws.STACK_NAME } }),
    "topics.work.cancelOn.source must be text, is a token that only the deployment resolves; allowed: 1 to 256 characters",
  ],
  [
    inTopic({ enqueueOn: { ...PLACED, detailType: `${Aws.STACK_NAME}-placed` } }),
    "enqueueOn.detailType must be text, is a token that only the deployment resolves",
  ],
  [
    inTopic({ spread: Duration.seconds(Token.asNumber({ Ref: "Spread" })) }),
    "topics.work.spread must be whole seconds, is a token that only the deployment resolves; allowed: 0 to 86400 seconds",
  ],
  [
    inTopic({ enqueueOn: [PLACED, { ...PLACED, source: "" }] }),
    'topics.work.enqueueOn[1].source must be text, is ""; allowed: 1 to 256 characters',
  ],
  ...["detail.id", "$", "$.", "$.detail[0]", "$..id", "$.detail.order id", "$.detail.*"].map(
    (key): [DelayQueueProps, string] => [
      inTopic({ cancelOn: { ...PAID, key } }),
      `topics.work.cancelOn.key must be a path into the event, is "${key}"; allowed: $.name or $.name.name…`,
    ],
  ),
  [
    inTopic({ enqueueOn: { ...PLACED, body: "detail" } }),
    'enqueueOn.body must be a path into the event, is "detail"',
  ],
  [
    inTopic({ cancelOn: { ...PAID, tombstone: Duration.hours(25) } }),
    "tombstone must be at most 86400 s, is 90000",
  ],
  [
    inTopic({ enqueueOn: { ...PLACED, delay: Duration.days(3661) } }),
    "delay must be at most 316224000 s, is 316310400",
  ],
  [
    inTopic({ enqueueOn: { ...PLACED, onDuplicate: "postpone" } }),
    'topics.work.enqueueOn.maxDelay must be given with onDuplicate "postpone", is undefined; allowed: 1 to 316224000 seconds',
  ],
  [
    inTopic({ enqueueOn: { ...PLACED, maxDelay: Duration.hours(1) } }),
    'enqueueOn.maxDelay is allowed for onDuplicate "postpone" only, is 3600; allowed: nothing here',
  ],
  [
    inTopic({ enqueueOn: { ...PLACED, onDuplicate: "postpone", maxDelay: Duration.seconds(0) } }),
    "maxDelay must be at least 1 s, is 0; allowed: 1 to",
  ],
  [
    inTopic({ cancelOn: PAID, enqueueOn: { ...PLACED, ...PAID } }),
    'topics.work.enqueueOn must not file a job that topics.work.cancelOn cancels by the same event, is {"detailType":"OrderPaid","key":"$.detail.orderId"}; allowed: another detailType or key, or two different sources',
  ],
  [
    inTopic({
      cancelOn: [PAID, { ...CANCELLING, source: "shop" }],
      enqueueOn: [{ ...PLACED, key: "$.id" }, PLACED],
    }),
    "topics.work.enqueueOn[1] must not file a job that topics.work.cancelOn[1] cancels",
  ],
  [
    inTopic({ cancelOn: PAID, enqueueOn: { ...PLACED, ...PAID, source: "shop" } }),
    'cancels by the same event, is {"source":"shop","detailType":"OrderPaid","key":"$.detail.orderId"}; allowed',
  ],
  [
    inTopic({
      cancelOn: { ...PAID, source: "shop", tombstone: Duration.seconds(0) },
      enqueueOn: { ...PLACED, ...PAID, source: "shop" },
    }),
    "topics.work.enqueueOn must not file a job that topics.work.cancelOn cancels by the same event",
  ],
  [
    inTopic({ enqueueOn: [PLACED, { ...PLACED, source: "shop", delay: Duration.hours(1) }] }),
    'topics.work.enqueueOn[1] must not file the same job as topics.work.enqueueOn[0] by the same event, is {"source":"shop","detailType":"OrderPlaced","key":"$.detail.orderId"}; allowed: another detailType or key, or two different sources',
  ],
  [
    inTopic({
      enqueueOn: [
        { ...PLACED, source: "shop" },
        { ...PLACED, source: "till" },
        { ...PLACED, source: "shop", onDuplicate: "replace" },
      ],
    }),
    "topics.work.enqueueOn[2] must not file the same job as topics.work.enqueueOn[0]",
  ],
];

const ACCEPTED: readonly DelayQueueProps[] = [
  { topics: { "order-timeout": {} } },
  { topics: { ["x".repeat(50)]: {} }, prefix: "x".repeat(24), shards: 1 },
  { topics, shards: 1024, retention: Duration.days(1), deadRetention: Duration.days(14) },
  { topics, api: { auth: "none" } },
  { topics, api: { authorizer: LOGIN } },
  { topics, api: { authorizer: LOGIN, scopes: { ...SCOPES, read: ["x".repeat(64), ...SCOPES.write] } } },
  { topics, maxFiledPerChain: false },
  { topics, maxFiledPerChain: 100 },
  { topics, table: SURVIVOR, tickConcurrency: 1, maximumConcurrency: 2, api: { receiveConcurrency: 1000 } },
  { topics, tracing: true },
  {
    topics,
    table: Table.fromTableName(new Stack(), "Table", Token.asString({ Ref: "Table" })),
    eventBus: EventBus.fromEventBusName(new Stack(), "Bus", "aws.partner/example.com/orders_1"),
    alarmTopic: Topic.fromTopicArn(
      new Stack(),
      "Topic",
      "arn:aws-us-gov:sns:us-gov-west-1:123456789012:on_call",
    ),
    encryptionKey: Key.fromKeyArn(new Stack(), "Key", "arn:aws-cn:kms:cn-north-1:123456789012:key/mrk-1ab"),
  },
  inTopic({ alarms: [] }),
  inTopic({ alarms: ["Dead", "Backlog", "Failing", "Retrying"] }),
  inTopic({ consumer: "pull", alarms: ["Backlog", "Retrying"] }),
  inTopic({ tracking: "none", alarms: ["Retrying"] }),
  { ...inTopic({ alarms: ["Retrying"] }), topicMetrics: ["Failed"] },
  { ...inTopic({ alarms: ["Dead", "Failing"] }), topicMetrics: [] },
  { topics, maxThroughput: { read: 500, write: 1_000_000 } },
  inTopic({ consumer: "pull", ttr: Duration.hours(12), pack: 1 }),
  { ...inTopic({ maximumConcurrency: false }), maximumConcurrency: false },
  inTopic({ pollers: false }),
  inTopic({ pack: 10, concurrency: 25, maximumConcurrency: 2, maxAttempts: 100 }),
  inTopic({ tracking: "none", maxFiledPerMinute: 1_000_000 }),
  inTopic({ pollers: { min: 2, max: 2 } }),
  { ...inTopic({ webhook: {}, pollers: { min: 200, max: 2000 } }), maximumConcurrency: 5 },
  inTopic({ backoff: [0] }),
  inTopic({ window: "22:00-06:00 America/New_York" }),
  inTopic({ ifLate: { after: Duration.seconds(1), do: "expire" }, consumer: "pull" }),
  inTopic({ webhook: {} }),
  inTopic({
    webhook: {
      url: "http://10.0.0.7/hooks",
      timeout: Duration.seconds(30),
      allowHttp: true,
      allowHosts: ["10.0.0.7", "[fd00::7]", "hooks.internal"],
    },
    maximumConcurrency: 1000,
    concurrency: 25,
  }),
  inTopic({ backoff: { exponential: { initial: 0, factor: 1, max: 0, jitter: 1 } } }),
  inTopic({ spread: Duration.days(1) }),
  inTopic({ tracking: "none", spread: Duration.seconds(1) }),
  inTopic({ cancelOn: PAID, enqueueOn: PLACED, webhook: { url: "https://shop.example" } }),
  inTopic({
    cancelOn: { ...PAID, source: "x".repeat(256), key: "$.detail-type", tombstone: Duration.seconds(0) },
  }),
  inTopic({
    cancelOn: [PAID, { ...PAID, detailType: "x".repeat(128), tombstone: Duration.days(1) }],
    enqueueOn: [
      { ...PLACED, delay: Duration.seconds(0), body: "$.detail.a_b.c-d" },
      { ...PLACED, detailType: "OrderAsked", delay: Duration.days(3660), onDuplicate: "replace" },
      { ...PLACED, key: "$.detail.customer", onDuplicate: "postpone", maxDelay: Duration.seconds(1) },
    ],
  }),
  inTopic({
    cancelOn: [
      { ...CANCELLING, source: "shop" },
      { ...CANCELLING, key: "$.detail.replaces" },
    ],
    enqueueOn: [
      { ...PLACED, source: "till" },
      { ...PLACED, source: "web" },
    ],
  }),
];

describe("validate", () => {
  it.each(REFUSED)("refuses %j", (props, message) => {
    expect(() => validate("Stack/Jobs", props)).toThrow(message);
  });

  it.each(ACCEPTED)("takes %j", (props) => {
    expect(() => validate("Stack/Jobs", props)).not.toThrow();
  });

  it("refuses an unknown value from plain JavaScript", () => {
    const props = JSON.parse(
      '{"topics":{"work":{"consumer":"http"}},"api":{"auth":"open"}}',
    ) as DelayQueueProps;
    expect(() => validate("Stack/Jobs", props)).toThrow(
      [
        "DelayQueue Stack/Jobs has invalid props:",
        '  api.auth must be one of the allowed values, is "open"; allowed: iam or none',
        '  topics.work.consumer must be one of the allowed values, is "http"; allowed: lambda or pull',
      ].join("\n"),
    );
  });
});
