import { Aws, Duration, Intrinsic, Token } from "aws-cdk-lib";
import { Annotations, Match } from "aws-cdk-lib/assertions";
import { describe, expect, it } from "vitest";
import { endedSchedules } from "../../infra/checks/schedule-checks.ts";
import { validate } from "../../infra/checks/validate.ts";
import type { DelayQueueProps, ScheduleProps } from "../../infra/props.ts";
import { parseOccurrence, storedInput } from "../../src/core/occurrence.ts";
import { resourcesOf } from "./resources.ts";
import { shopWith, templateOf } from "./shop-stack.ts";

const topics = { work: {}, loose: { tracking: "none" }, calls: { webhook: {} } } as const;
const nightly: ScheduleProps = { topic: "work", expression: "cron(0 2 * * ? *)", body: { kind: "daily" } };

type Declared = {
  DependsOn: string[];
  Properties: { Target: { Input: string; [name: string]: unknown }; [name: string]: unknown };
};

function declaredIn(props: Partial<DelayQueueProps>) {
  const template = templateOf(shopWith({ topics, ...props }).stack);
  const found = resourcesOf(template, "AWS::Scheduler::Schedule") as unknown as [string, Declared][];
  const dependencies = found.flatMap(([, { DependsOn }]) => DependsOn);
  return { template, dependencies, schedules: found.map(([, { Properties }]) => Properties) };
}

describe("a declared schedule", () => {
  it("belongs to the stack, in the group of the queue's other schedules", () => {
    const { dependencies, schedules } = declaredIn({ schedules: { nightly } });
    expect(dependencies).toEqual([
      expect.stringMatching(/^JobsRecurringSchedulesGroup/),
      expect.stringMatching(/^JobsRecurringSchedulesRoleDefaultPolicy/),
      expect.stringMatching(/^JobsRecurringSchedulesRole/),
    ]);
    expect(schedules).toEqual([
      {
        Name: "nightly",
        GroupName: "minutehand-schedules",
        ScheduleExpression: "cron(0 2 * * ? *)",
        ScheduleExpressionTimezone: "UTC",
        State: "ENABLED",
        FlexibleTimeWindow: { Mode: "OFF" },
        Target: {
          Arn: { "Fn::GetAtt": [expect.stringMatching(/^JobsRecurringOccurrenceFunction/), "Arn"] },
          RoleArn: { "Fn::GetAtt": [expect.stringMatching(/^JobsRecurringSchedulesRole/), "Arn"] },
          DeadLetterConfig: { Arn: { "Fn::GetAtt": [expect.stringMatching(/^JobsRecurringDlq/), "Arn"] } },
          Input: expect.any(String),
        },
      },
    ]);
  });

  it("may have cron's five fields, which the template writes as EventBridge does", () => {
    const { schedules } = declaredIn({ schedules: { nightly: { ...nightly, expression: "0 2 * * 1-5" } } });
    expect(schedules).toMatchObject([{ ScheduleExpression: "cron(0 2 ? * MON-FRI *)" }]);
  });

  it("gives its function what the function files, and the API what it answers", () => {
    const options = { maxAttempts: 2, tag: "t", group: "g" };
    const durations = { expiresAfter: 3600, spread: "2m" } as const;
    const full = { ...nightly, ...options, ...durations, timezone: "Europe/Berlin", body: { text: "<b>" } };
    const { schedules } = declaredIn({
      schedules: { full: { ...full, paused: true, flexibleWindow: "5m" } },
    });
    expect(schedules).toMatchObject([
      {
        ScheduleExpressionTimezone: "Europe/Berlin",
        State: "DISABLED",
        FlexibleTimeWindow: { Mode: "FLEXIBLE", MaximumWindowInMinutes: 5 },
      },
    ]);
    const input = schedules[0]?.Target.Input ?? "";
    const job = {
      topic: "work",
      body: '{"text":"<b>"}',
      ...options,
      expiresAfter: 3_600_000,
      spread: 120_000,
    };
    expect(storedInput(input)).toMatchObject({ declared: "Shop/Jobs", job });
    const fired = JSON.parse(input.replace("<aws.scheduler.scheduled-time>", "2026-03-01T02:00:00Z"));
    expect(parseOccurrence(fired)).toEqual({ name: "full", time: Date.UTC(2026, 2, 1, 2), job });
  });

  it("has the body that the client would send: a Date as its text, and no field that is undefined", () => {
    const body = { at: new Date(0), none: undefined };
    const { schedules } = declaredIn({ schedules: { dated: { ...nightly, body } } });
    expect(storedInput(schedules[0]?.Target.Input ?? "")).toMatchObject({
      job: { body: '{"at":"1970-01-01T00:00:00.000Z"}' },
    });
  });

  it("needs no API: without it, the tick alone reaches Scheduler, to look for missed occurrences", () => {
    const { template, schedules } = declaredIn({ schedules: { nightly }, api: { auth: "none" } });
    expect(schedules).toHaveLength(1);
    const mayList = resourcesOf(template, "AWS::IAM::Policy").filter(([, policy]) =>
      JSON.stringify(policy).includes("scheduler:ListSchedules"),
    );
    expect(mayList.map(([id]) => id)).toEqual([expect.stringMatching(/^JobsTickSweeperRole/)]);
    const { Resources } = declaredIn({ api: { auth: "none" } }).template;
    expect(Object.keys(Resources).filter((id) => id.startsWith("JobsRecurring"))).toEqual([]);
  });

  it("changes nothing else: a stack without schedules has none", () => {
    expect(declaredIn({}).schedules).toEqual([]);
  });
});

describe("a schedule that never occurs again", () => {
  const expression = "cron(0 2 31 12 ? 2026)";

  it("is warned of from its last occurrence on, in its time zone", () => {
    const warnings = (timezone: string, now: number) =>
      endedSchedules({ schedules: { nightly, last: { ...nightly, expression, timezone } } }, now);
    const last = Date.UTC(2026, 11, 31, 1);
    expect(warnings("Europe/Berlin", last - 1)).toEqual([]);
    expect(warnings("Europe/Berlin", last)).toEqual([
      `schedule "last" files no more jobs, because ${expression} has no occurrence after 2026-12-31T01:00:00.000Z. ` +
        "Remove the schedule, or give it a later year",
    ]);
    expect(warnings("UTC", last)).toEqual([]);
  });

  it("is warned of at synth, once for each, and deployed all the same", () => {
    const past = { ...nightly, expression: "cron(0 2 1 1 ? 2020)" };
    const { stack } = shopWith({ topics, schedules: { nightly, past, "past-too": past } });
    expect(resourcesOf(templateOf(stack), "AWS::Scheduler::Schedule")).toHaveLength(3);
    const told = Annotations.fromStack(stack).findWarning("*", Match.stringLikeRegexp("no more jobs"));
    expect(told.map(({ entry }) => String(entry.data).slice(0, 20))).toEqual([
      'schedule "past" file',
      'schedule "past-too" ',
    ]);
  });
});

const refused = (more: Partial<ScheduleProps>, name = "nightly"): DelayQueueProps => ({
  topics,
  schedules: { [name]: { ...nightly, ...more } },
});

const circle: { self?: unknown } = {};
circle.self = circle;
const nested = (levels: number) => Array.from({ length: levels }).reduce<unknown>((inner) => [inner], 1);

describe("a schedule is refused at synth", () => {
  it.each<[DelayQueueProps, string]>([
    [
      refused({}, "a b"),
      'a schedule\'s name must fit into EventBridge Scheduler, is "a b"; allowed: 1 to 64',
    ],
    [refused({}, ".."), 'is ".."; allowed: 1 to 64 characters'],
    [
      refused({ topic: "gone" }),
      'schedules.nightly.topic must be a topic of the queue, is "gone"; allowed: work or loose or calls',
    ],
    [
      refused({ expression: "rate(15 minutes)" }),
      'schedules.nightly.expression must be a cron expression, because a template does not know when a rate begins, is "rate(15 minutes)"; allowed: the five fields of cron, such as */15 * * * *',
    ],
    [refused({ expression: "at(2030-01-01T00:00:00)" }), "expression must be a cron expression"],
    [
      refused({ expression: "0 9 13 * 5" }),
      "schedules.nightly.expression must have * for one of day-of-month",
    ],
    [refused({ expression: "cron(0 25 * * ? *)" }), "0 to 23, ranges, steps or lists of them in hours"],
    [refused({ expression: "cron(0 0 30 2 ? *)" }), "schedules.nightly.expression must have an occurrence"],
    [refused({ expression: Aws.STACK_NAME }), "is a token that only the deployment resolves"],
    [refused({ timezone: "+01:00" }), "timezone must be an IANA name such as Europe/Berlin"],
    [
      refused({ body: undefined }),
      "schedules.nightly.body must be given, is undefined; allowed: any JSON value",
    ],
    [refused({ body: { bucket: Token.asString({ Ref: "Bucket" }) } }), "body must be known when"],
    [refused({ body: { size: Token.asNumber({ Ref: "Size" }) } }), "body must be known when"],
    [refused({ body: [new Intrinsic({ Ref: "Bucket" })] }), "body must be known when"],
    [
      refused({ body: { n: 12n } }),
      'schedules.nightly.body.n must be a value that JSON keeps, is "a bigint"; allowed: text, numbers, true, false, null, lists and objects',
    ],
    [refused({ body: () => 1 }), 'schedules.nightly.body must be a value that JSON keeps, is "a function"'],
    [refused({ body: [Number.NaN] }), 'schedules.nightly.body.0 must be a value that JSON keeps, is "NaN"'],
    [
      refused({ body: { at: new Date("soon") } }),
      'body.at must be a value that JSON keeps, is "an invalid Date"',
    ],
    [refused({ body: { all: new Map() } }), 'body.all must be a value that JSON keeps, is "a Map"'],
    [refused({ body: circle }), "schedules.nightly.body must be a value that JSON can represent"],
    [refused({ body: nested(101) }), "JSON must be nested at most 100 levels deep"],
    [refused({ body: nested(100_000) }), "schedules.nightly.body must be a value that JSON can represent"],
    [refused({ body: "x".repeat(210_000) }), 'is "210002 bytes"; allowed: 204800 bytes of JSON, and 256000'],
    [refused({ body: "<".repeat(43_000) }), "body must fit into EventBridge Scheduler"],
    [
      refused({ flexibleWindow: Duration.seconds(90) }),
      "schedules.nightly.flexibleWindow must be whole minutes, is 1.5; allowed: 1 to 1440",
    ],
    [refused({ maxAttempts: 0 }), "schedules.nightly.maxAttempts must be at least 1, is 0; allowed: 1 to"],
    [
      refused({ expiresAfter: Duration.seconds(0) }),
      "schedules.nightly.expiresAfter must be at least 1, is 0",
    ],
    [
      refused({ spread: "1 minute" as "1m" }),
      'schedules.nightly.spread must be a duration, is "1 minute"; allowed: a number of seconds',
    ],
    [
      refused({ flexibleWindow: 300_000_000 }),
      "schedules.nightly.flexibleWindow must be a duration, is 300000000; allowed: at most 31622400",
    ],
    [
      refused({ spread: Duration.days(2) }),
      "schedules.nightly.spread must be at most 86400000, is 172800000",
    ],
    [refused({ tag: "a\nb" }), "schedules.nightly.tag must be text without control characters"],
    [refused({ group: "two words" }), "schedules.nightly.group must be text"],
    [
      refused({ topic: "loose", expiresAfter: Duration.hours(1) }),
      "schedules.nightly.expiresAfter is allowed for a tracked topic only",
    ],
    [refused({ topic: "calls" }), "schedules.nightly.topic needs webhook.url"],
    [{ topics, schedules: { nightly: null as never } }, "schedules.nightly.body must be given"],
  ])("$1", (props, message) => {
    expect(() => validate("Shop/Jobs", props)).toThrow(message);
  });
});
