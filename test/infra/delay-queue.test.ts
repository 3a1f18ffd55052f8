import { App, Duration, Stack, Token } from "aws-cdk-lib";
import { Annotations, Match, Template } from "aws-cdk-lib/assertions";
import { Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { Key } from "aws-cdk-lib/aws-kms";
import type { CfnFunction, Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import { AwsSolutionsChecks } from "cdk-nag";
import { describe, expect, it } from "vitest";
import { DelayQueue } from "../../infra/delay-queue.ts";
import type { DelayQueueProps } from "../../infra/props.ts";
import type { Policy } from "../../src/settings/policy.ts";
import { policyText } from "../../src/settings/policy-text.ts";
import { resourcesOf } from "./resources.ts";
import { shopWith, someFunction, templateOf } from "./shop-stack.ts";

describe("a second queue with the same prefix", () => {
  const props = { topics: { mail: { consumer: "pull" } } } satisfies DelayQueueProps;
  const env = { account: "111122223333", region: "eu-west-1" };

  it("is refused in the same stack", () => {
    const { stack } = shopWith();
    expect(() => new DelayQueue(stack, "Letters", props)).toThrow(
      'DelayQueue Shop/Letters has invalid props:\n  prefix must differ from that of the queue Shop/Jobs, got "minutehand"',
    );
  });

  it.each([
    ["warns in another stack of the same account and region", env, 1],
    ["is fine in another region", { ...env, region: "eu-central-1" }, 0],
  ])("%s", (_, other, count) => {
    const app = new App();
    new DelayQueue(new Stack(app, "Shop", { env }), "Jobs", { ...props, prefix: "shop" });
    const stack = new Stack(app, "Mail", { env: other });
    new DelayQueue(stack, "Jobs", { ...props, prefix: "shop" });
    const found = Annotations.fromStack(stack).findWarning(
      "/Mail/Jobs",
      Match.stringLikeRegexp('the queue Shop/Jobs has the prefix "shop" too'),
    );
    expect(found).toHaveLength(count);
  });

  it("warns in another stack if no stack names its account and region", () => {
    const app = new App();
    new DelayQueue(new Stack(app, "Shop"), "Jobs", props);
    const stack = new Stack(app, "Mail");
    new DelayQueue(stack, "Jobs", props);
    Annotations.fromStack(stack).hasWarning("/Mail/Jobs", Match.stringLikeRegexp("same-prefix"));
    const others = new Stack(app, "Letters");
    new DelayQueue(others, "Jobs", { ...props, prefix: "letters" });
    expect(Annotations.fromStack(others).findWarning("*", Match.stringLikeRegexp("same-prefix"))).toEqual([]);
  });
});

describe("addConsumer", () => {
  it("gives the function its environment, event source and limits", () => {
    const { stack, queue } = shopWith({ topics: { mail: { maximumConcurrency: 7 } } });
    queue.addConsumer("mail", someFunction(stack, "Mail"), { batchSize: 3 });
    const template = Template.fromStack(stack);
    template.hasResourceProperties("AWS::Lambda::EventSourceMapping", {
      BatchSize: 3,
      FunctionResponseTypes: ["ReportBatchItemFailures"],
      ScalingConfig: { MaximumConcurrency: 7 },
    });
    template.hasResourceProperties("AWS::SQS::Queue", {
      QueueName: "minutehand-mail",
      VisibilityTimeout: 70,
    });
    template.hasResourceProperties("AWS::Lambda::Function", {
      Timeout: 40,
      Environment: { Variables: { MINUTEHAND_POLICY: Match.stringLikeRegexp('"topics":{"mail":{}}') } },
    });
  });

  it("refuses a wrong topic, a wrong option, a wrong timeout and a second consumer", () => {
    const { stack, queue } = shopWith();
    const fn = someFunction(stack, "Close");
    expect(() => queue.addConsumer("refund", fn)).toThrow(
      'topic "refund" is not declared in the queue\'s topics',
    );
    expect(() => queue.addConsumer("work", fn)).toThrow('topic "work" is a pull topic');
    expect(() => queue.addConsumer("order-timeout", fn, { batchSize: 11 })).toThrow("from 1 to 10, got 11");
    const hasty = someFunction(stack, "Hasty", Duration.seconds(9));
    expect(() => queue.addConsumer("order-timeout", hasty)).toThrow(
      "the timeout of Shop/Hasty must be 10 s or more, so that the function can run a job, got 9 s",
    );
    const vague = someFunction(stack, "Vague", Duration.seconds(Token.asNumber({ Ref: "Timeout" })));
    expect(() => queue.addConsumer("order-timeout", vague)).toThrow(
      "the timeout of Shop/Vague must be known at synth, got a token; allowed: 10 s or more",
    );
    queue.addConsumer("order-timeout", fn);
    expect(() => queue.addConsumer("order-timeout", fn)).toThrow(
      'topic "order-timeout" already has the consumer Shop/Close',
    );
  });
});

it("a function cannot serve two queues, because its environment has room for one, and it keeps the first", () => {
  const { stack, queue } = shopWith();
  const letters = new DelayQueue(stack, "Letters", {
    prefix: "letters",
    topics: { mail: {} },
    api: { auth: "none" },
  });
  const fn = someFunction(stack, "Close");
  queue.addConsumer("order-timeout", fn);
  const refusal =
    "DelayQueue Shop/Letters: Shop/Close already has the environment of Shop/Jobs, and a function can have the environment of one " +
    "queue only. Use a function for each queue, or call the other queue's HTTP API";
  expect(() => letters.grantEnqueue(fn)).toThrow(refusal);
  expect(() => letters.addConsumer("mail", fn)).toThrow(refusal);
  queue.grantEnqueue(fn);
  letters.addConsumer("mail", someFunction(stack, "Mail"));
  Template.fromStack(stack).hasResourceProperties("AWS::Lambda::Function", {
    Timeout: 40,
    Environment: {
      Variables: { MINUTEHAND_QUEUE_URL_PREFIX: { "Fn::Join": ["", Match.arrayWith(["/minutehand-"])] } },
    },
  });
});

it("a program outside Lambda finds in the queue the environment that `grantEnqueue` gives to a function", () => {
  for (const props of [{}, { longDelay: false }] as const) {
    const { stack, queue } = shopWith({ topics: { mail: {} }, ...props });
    queue.grantEnqueue(someFunction(stack, "Shop"));
    const [[, fn] = [""]] = resourcesOf(templateOf(stack), "AWS::Lambda::Function").filter(([id]) =>
      id.startsWith("Shop"),
    );
    expect(fn?.Properties.Environment).toEqual({ Variables: stack.resolve(queue.environment) });
  }
});

it("a user's function keeps its own names for Powertools, and gets none", () => {
  const { stack, queue } = shopWith({ topics: { mail: {}, work: { consumer: "pull" } } });
  const own = { POWERTOOLS_SERVICE_NAME: "billing", POWERTOOLS_METRICS_NAMESPACE: "Billing" };
  const named = someFunction(stack, "Named");
  for (const [name, value] of Object.entries(own)) named.addEnvironment(name, value);
  const plain = someFunction(stack, "Plain");
  queue.grantEnqueue(named);
  queue.grantPull("work", named);
  queue.addConsumer("mail", named);
  queue.grantEnqueue(plain);
  const environmentOf = (fn: LambdaFunction) =>
    stack.resolve((fn.node.defaultChild as CfnFunction).environment).variables;
  expect(environmentOf(named)).toMatchObject(own);
  expect(Object.keys(environmentOf(plain)).filter((name) => name.startsWith("POWERTOOLS"))).toEqual([]);
});

describe("a worker that pulls", () => {
  const shop = () => shopWith({ topics: { mail: {}, work: { consumer: "pull" } } });

  it("gets its environment if it is a function, and finds it in the queue if it is not", () => {
    const { stack, queue } = shop();
    queue.grantPull("work", someFunction(stack, "Worker"));
    const [[, fn] = [""]] = resourcesOf(templateOf(stack), "AWS::Lambda::Function").filter(([id]) =>
      id.startsWith("Worker"),
    );
    const { MINUTEHAND_PROMOTIONS: _, ...environment } = stack.resolve(queue.environment);
    expect(fn?.Properties.Environment).toEqual({ Variables: environment });
    expect(Object.keys(environment)).toEqual(
      expect.arrayContaining(["MINUTEHAND_TABLE", "MINUTEHAND_QUEUE_URL_PREFIX", "MINUTEHAND_POLICY"]),
    );
  });

  it("can be a role outside Lambda, for several topics", () => {
    const { stack, queue } = shopWith({ topics: { work: { consumer: "pull" }, mail: { consumer: "pull" } } });
    const role = new Role(stack, "Task", { assumedBy: new ServicePrincipal("ecs-tasks.amazonaws.com") });
    queue.grantPull("work", role);
    queue.grantPull("mail", role);
    const [[, policy] = [""]] = resourcesOf(templateOf(stack), "AWS::IAM::Policy").filter(([id]) =>
      id.startsWith("Task"),
    );
    const text = JSON.stringify(policy);
    expect(text).toMatch(/JobsTopicworkReady.*JobsTopicmailReady/);
    expect(text).not.toContain("*");
  });

  it.each(["mail", "order"])("cannot pull %s, which is not a pull topic", (topic) => {
    const { stack, queue } = shop();
    const fn = someFunction(stack, "Worker");
    expect(() => queue.grantPull(topic, fn)).toThrow(
      `DelayQueue Shop/Jobs: topic "${topic}" is not a pull topic; pull topics: work`,
    );
    expect(stack.resolve((fn.node.defaultChild as CfnFunction).environment)).toBeUndefined();
  });
});

describe("a topic that Lambda polls", () => {
  it("is known to the API and the tick, which stop the polling while the topic is paused", () => {
    const { stack, queue } = shopWith({ topics: { mail: {}, work: { consumer: "pull" } } });
    queue.addConsumer("mail", someFunction(stack, "Mail"));
    const template = templateOf(stack);
    const [[mapping] = [""]] = resourcesOf(template, "AWS::Lambda::EventSourceMapping");
    const told = resourcesOf(template, "AWS::Lambda::Function").flatMap(([id, { Properties }]) => {
      const { Variables } = Properties.Environment as { Variables: Record<string, unknown> };
      return Variables.MINUTEHAND_EVENT_SOURCES
        ? [[id.slice(0, 12), Variables.MINUTEHAND_EVENT_SOURCES]]
        : [];
    });
    // "work" is the second topic, and has no mapping.
    const mappings = { "Fn::Join": ["", ['"', { Ref: mapping }, '"']] };
    expect(told).toEqual([
      ["JobsTickSwee", mappings],
      ["JobsApiHandl", mappings],
    ]);
  });

  it("is left out if its consumer is in another stack, because two stacks cannot refer to each other", () => {
    const app = new App();
    const queue = new DelayQueue(new Stack(app, "Queue"), "Jobs", { topics: { mail: {} } });
    const other = new Stack(app, "Other");
    queue.addConsumer("mail", someFunction(other, "Mail"));
    Template.fromStack(other).resourceCountIs("AWS::Lambda::EventSourceMapping", 1);
    Template.fromStack(Stack.of(queue)).hasResourceProperties("AWS::Lambda::Function", {
      Environment: { Variables: { MINUTEHAND_EVENT_SOURCES: '""' } },
    });
  });
});

describe("schedules", () => {
  const variablesOf = (stack: Stack, id: string) => {
    const functions = resourcesOf(templateOf(stack), "AWS::Lambda::Function");
    const environment = functions.find(([name]) => name.startsWith(id))?.[1].Properties.Environment;
    return (environment ?? {}) as { Variables?: Record<string, unknown> };
  };
  const textOf = (value: unknown) =>
    ((value as { "Fn::Join": [string, unknown[]] })["Fn::Join"][1] ?? []).join("");

  it("are known to the API and to producers by group, function and role", () => {
    const { stack, queue } = shopWith();
    queue.grantEnqueue(someFunction(stack, "Shop"));
    const group = '{"group":"minutehand-promotions","target":"[object Object]","role":"[object Object]"}';
    const { Variables: api = {} } = variablesOf(stack, "JobsApiHandler");
    expect(textOf(api.MINUTEHAND_PROMOTIONS)).toBe(group);
    const withDlq = group.replace("promotions", "schedules").replace("}", ',"dlq":"[object Object]"}');
    expect(textOf(api.MINUTEHAND_SCHEDULES)).toBe(withDlq);
    const { Variables: shop = {} } = variablesOf(stack, "Shop");
    expect(textOf(shop.MINUTEHAND_PROMOTIONS)).toBe(group);
    expect(shop).not.toHaveProperty("MINUTEHAND_SCHEDULES");
  });

  it("of far jobs can be left out", () => {
    const { stack, queue } = shopWith({ topics: { mail: {} }, longDelay: false });
    queue.grantEnqueue(someFunction(stack, "Shop"));
    const template = templateOf(stack);
    expect(
      resourcesOf(template, "AWS::Scheduler::ScheduleGroup").map(([, { Properties }]) => Properties.Name),
    ).toEqual(["minutehand-schedules"]);
    expect(JSON.stringify(template)).not.toMatch(/MINUTEHAND_PROMOTIONS|longDelay/);
  });

  it("that recur are left out if there is no API to make them", () => {
    const { stack } = shopWith({ topics: { mail: {} }, api: { auth: "none" } });
    const template = templateOf(stack);
    expect(
      resourcesOf(template, "AWS::Scheduler::ScheduleGroup").map(([, { Properties }]) => Properties.Name),
    ).toEqual(["minutehand-promotions"]);
    expect(JSON.stringify(template)).not.toContain("schedules_dlq");
  });
});

it("the functions that pause topics have room in their environment for the event source mappings of 40 topics", () => {
  const topics = Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`topic-${i}`, {}]));
  const { stack, queue } = shopWith({ topics });
  const fn = someFunction(stack, "All");
  for (const topic of Object.keys(topics)) queue.addConsumer(topic, fn);
  expect(queue.node.validate()).toEqual([]);
});

describe("synth warns", () => {
  it("of a topic without a consumer, and of alarms that notify nobody", () => {
    const { stack } = shopWith();
    const warnings = Annotations.fromStack(stack);
    warnings.hasWarning("*", Match.stringLikeRegexp('topic "order-timeout" has no consumer'));
    warnings.hasNoWarning("*", Match.stringLikeRegexp('topic "work" has no consumer'));
    warnings.hasWarning("*", Match.stringLikeRegexp("alarms notify nobody"));
  });
});

/** Topics that set options, some of them to the defaults. */
const VARIED: DelayQueueProps["topics"] = {
  work: { consumer: "pull", pack: 1, ttr: "5m", oldestMessageAge: 3600 },
  mail: {
    tracking: "full",
    pack: 10,
    concurrency: 3,
    maximumConcurrency: 9,
    backoff: [1, Duration.minutes(2), "500ms"],
    spread: Duration.minutes(2),
  },
  plain: {
    consumer: "lambda",
    precision: "second",
    maxAttempts: 10,
    spread: Duration.seconds(0),
    ifLate: { after: Duration.hours(1), do: "run" },
  },
  calls: {
    window: "09:00-18:00 Asia/Shanghai",
    ifLate: { after: Duration.minutes(5), do: "skip" },
  },
};
const VARIED_POLICY = {
  longDelay: 604_800,
  shards: 16,
  retention: 172_800,
  deadRetention: 7_776_000,
  topics: {
    work: { consumer: "pull", ttr: 300 },
    mail: { concurrency: 3, backoff: { waits: [1, 120, 0.5] }, spread: 120 },
    plain: {},
    calls: {
      window: "09:00-18:00 Asia/Shanghai",
      ifLate: { after: 300, do: "skip" },
    },
  },
};
const URL_PREFIX = {
  "Fn::Join": [
    "",
    [
      "https://sqs.",
      { Ref: "AWS::Region" },
      ".",
      { Ref: "AWS::URLSuffix" },
      "/",
      { Ref: "AWS::AccountId" },
      "/shop-",
    ],
  ],
};

describe("the environment", () => {
  /** Topics whose backoffs take about 500 bytes each when they are compressed. */
  const laddered = (count: number) => {
    const wait = (topic: number, step: number): number => ((topic * 100 + step) * 7_919_317) % 20_000_000;
    const backoffOf = (topic: number) => Array.from({ length: 100 }, (_, step) => wait(topic, step));
    return Object.fromEntries(
      Array.from({ length: count }, (_, i) => [`topic-${i}`, { backoff: backoffOf(i) }]),
    );
  };

  it("names the table, the queues' prefix, and the policy without its defaults", () => {
    const { stack } = shopWith({
      prefix: "shop",
      shards: 16,
      retention: "2d",
      topics: VARIED,
    });
    const functions = resourcesOf(templateOf(stack), "AWS::Lambda::Function");
    expect(functions).toHaveLength(5);
    for (const [, { Properties }] of functions) {
      expect(Properties.Environment).toMatchObject({
        Variables: {
          MINUTEHAND_TABLE: { Ref: expect.stringMatching(/^JobsPoolTable/) },
          MINUTEHAND_QUEUE_URL_PREFIX: URL_PREFIX,
          MINUTEHAND_POLICY: policyText(VARIED_POLICY as Policy),
        },
      });
    }
  });

  it("may fill Lambda's 4 KB and no more", () => {
    expect(() => templateOf(shopWith({ topics: laddered(3) }).stack)).not.toThrow();
    expect(() => templateOf(shopWith({ topics: laddered(7) }).stack)).toThrow(
      /Shop\/Jobs\/Tick\/Sweeper\/Function has \d+ bytes, and Lambda allows 4096: 3\d{3} are taken by the policies of 7 topics/,
    );
  });

  it("counts a consumer's own variables too", () => {
    const { stack, queue } = shopWith();
    const fn = someFunction(stack, "Close");
    fn.addEnvironment("TEMPLATE", "x".repeat(4000));
    queue.addConsumer("order-timeout", fn);
    expect(() => templateOf(stack)).toThrow(
      /the environment of Shop\/Close has \d+ bytes, and Lambda allows 4096/,
    );
  });
});

describe("a customer's key", () => {
  it("encrypts the table and the queues, and policies for the key name each action in full", () => {
    const app = new App();
    const stack = new Stack(app, "Shop");
    const encryptionKey = new Key(stack, "Key", { enableKeyRotation: true });
    const topics = { mail: {}, work: { consumer: "pull" } as const };
    const queue = new DelayQueue(stack, "Jobs", { topics, encryptionKey });
    queue.grantEnqueue(someFunction(stack, "Producer"));
    queue.grantPull("work", someFunction(stack, "Worker"));
    const template = templateOf(stack);
    const byKey = resourcesOf(template, "AWS::SQS::Queue").filter(([, q]) => q.Properties.KmsMasterKeyId);
    expect(byKey).toHaveLength(5);
    const [, table] = resourcesOf(template, "AWS::DynamoDB::Table")[0] ?? [];
    expect(table?.Properties).toMatchObject({ SSESpecification: { SSEType: "KMS" } });
    const policies = resourcesOf(template, "AWS::IAM::Policy").filter(
      ([, policy]) => !JSON.stringify(policy).includes("lambda:InvokeFunction"),
    );
    expect(policies).toHaveLength(7);
    for (const [, policy] of policies) {
      expect(JSON.stringify(policy)).toContain("kms:GenerateDataKey");
      expect(JSON.stringify(policy)).not.toMatch(/kms:\w*\*/);
    }
    const groups = resourcesOf(template, "AWS::Logs::LogGroup");
    expect(groups.length).toBeGreaterThan(5);
    const keyArn = { "Fn::GetAtt": [resourcesOf(template, "AWS::KMS::Key")[0]?.[0], "Arn"] };
    for (const [, group] of groups) expect(group.Properties.KmsKeyId).toEqual(keyArn);
    expect(JSON.stringify(resourcesOf(template, "AWS::KMS::Key"))).toContain(
      "kms:EncryptionContext:aws:logs:arn",
    );
    expect(new AwsSolutionsChecks(app).validateScope(queue).violations).toEqual([]);
  });

  it("from another app does not encrypt the logs, and synth warns of it", () => {
    const stack = new Stack(new App(), "Shop");
    const encryptionKey = Key.fromKeyArn(stack, "Key", "arn:aws:kms:eu-west-1:123456789012:key/0a0a");
    new DelayQueue(stack, "Jobs", { topics: { mail: {} }, encryptionKey });
    const template = templateOf(stack);
    for (const [, group] of resourcesOf(template, "AWS::Logs::LogGroup"))
      expect(group.Properties.KmsKeyId).toBeUndefined();
    Annotations.fromStack(stack).hasWarning(
      "/Shop/Jobs",
      Match.stringLikeRegexp("the logs stay under CloudWatch's"),
    );
  });
});
