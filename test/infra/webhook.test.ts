import { App, Duration, Stack } from "aws-cdk-lib";
import { Template } from "aws-cdk-lib/assertions";
import { Key } from "aws-cdk-lib/aws-kms";
import { AwsSolutionsChecks } from "cdk-nag";
import { describe, expect, it } from "vitest";
import { DelayQueue } from "../../infra/delay-queue.ts";
import type { TopicProps } from "../../infra/props.ts";
import { policyIn } from "../../src/settings/policy-text.ts";
import { type Resource, resourcesOf, type StackTemplate } from "./resources.ts";
import { shopWith, someFunction, templateOf } from "./shop-stack.ts";

const MAIL: TopicProps = { webhook: { url: "https://mail.example/hooks", timeout: Duration.seconds(20) } };

function only(template: StackTemplate, type: string, name: string): Resource {
  const found = resourcesOf(template, type).filter(([id]) => id.startsWith(name));
  expect(found).toHaveLength(1);
  return (found[0] as [string, Resource])[1];
}

describe("a webhook topic", () => {
  const template = templateOf(shopWith({ topics: { mail: MAIL, orders: {} } }).stack);
  const fn = only(template, "AWS::Lambda::Function", "JobsWebhookmail");
  const [secretId] = resourcesOf(template, "AWS::SecretsManager::Secret").map(([id]) => id);

  it("has a secret of 44 letters and digits, which stays when the stack goes", () => {
    const secret = only(template, "AWS::SecretsManager::Secret", "JobsWebhookmailSecret");
    expect(secret.Properties.GenerateSecretString).toEqual({ PasswordLength: 44, ExcludePunctuation: true });
    expect(secret.DeletionPolicy).toBe("RetainExceptOnCreate");
  });

  it("has a function that knows its topic, its secret and its policy", () => {
    const { Variables } = fn.Properties.Environment as { Variables: Record<string, string> };
    expect(Variables).toMatchObject({
      MINUTEHAND_WEBHOOK_TOPIC: "mail",
      UV_THREADPOOL_SIZE: "32",
      MINUTEHAND_WEBHOOK_SECRET: { Ref: secretId },
    });
    expect(policyIn(Variables.MINUTEHAND_POLICY ?? "").topics).toEqual({
      mail: { webhook: { url: "https://mail.example/hooks", timeout: 20 } },
      orders: {},
    });
  });

  it("can resolve a host name although the lookups of all calls that timed out still hang", () => {
    const threads = (topic: TopicProps) => {
      const { stack } = shopWith({ topics: { mail: topic } });
      const { Environment } = only(templateOf(stack), "AWS::Lambda::Function", "JobsWebhookmail").Properties;
      return Number((Environment as { Variables: Record<string, string> }).Variables.UV_THREADPOOL_SIZE);
    };
    const quick = (seconds: number) => ({ webhook: { timeout: Duration.seconds(seconds) } });
    expect(threads({ webhook: {} })).toBe(32);
    expect(threads(quick(2))).toBe(101);
    expect(threads({ ...quick(1), concurrency: 25 })).toBe(501);
  });

  it("gives its function the time for four rounds of calls that time out, and hides messages 30 s longer", () => {
    expect(fn.Properties.Timeout).toBe(90);
    const ready = resourcesOf(template, "AWS::SQS::Queue").find(
      ([, { Properties }]) => Properties.QueueName === "minutehand-mail",
    );
    expect(ready?.[1].Properties.VisibilityTimeout).toBe(120);
  });

  it("calls its receivers from five invocations at once, or from as many as maximumConcurrency allows", () => {
    const scaling = (topic: TopicProps) => {
      const mapping = only(
        templateOf(shopWith({ topics: { mail: topic } }).stack),
        "AWS::Lambda::EventSourceMapping",
        "JobsWebhookmail",
      );
      return mapping.Properties.ScalingConfig;
    };
    expect(scaling(MAIL)).toEqual({ MaximumConcurrency: 5 });
    expect(scaling({ ...MAIL, maximumConcurrency: 40 })).toEqual({ MaximumConcurrency: 40 });
  });

  it("lets its function, and no other, read its secret", () => {
    const { Statement } = only(template, "AWS::IAM::Policy", "JobsWebhookmail").Properties.PolicyDocument as {
      Statement: { Action: string | string[]; Resource: unknown }[];
    };
    const onSecrets = Statement.filter(({ Action }) => [Action].flat().join().includes("secretsmanager"));
    expect(onSecrets).toEqual([
      { Action: "secretsmanager:GetSecretValue", Effect: "Allow", Resource: { Ref: secretId } },
    ]);
    const readers = resourcesOf(template, "AWS::IAM::Policy").filter(([, policy]) =>
      JSON.stringify(policy).includes("secretsmanager"),
    );
    expect(readers).toHaveLength(1);
  });

  it("lets its function use, besides its secret and its log, only the queues of its topic and the job pool", () => {
    const policy = only(template, "AWS::IAM::Policy", "JobsWebhookmail");
    const reached = [...JSON.stringify(policy).matchAll(/"Fn::GetAtt":\["(\w+?)[0-9A-F]{8}"/g)].map(
      ([, id]) => id,
    );
    expect([...new Set(reached)].sort()).toEqual([
      "JobsPoolTable",
      "JobsTopicmailDlq",
      "JobsTopicmailReady",
      "JobsWebhookmailCallerLog",
    ]);
  });

  it("can grant its secret to a function of the user, and other topics have no secret", () => {
    const { stack, queue } = shopWith({ topics: { mail: MAIL, orders: {} } });
    queue.webhookSecret("mail").grantRead(someFunction(stack, "Teller"));
    Template.fromStack(stack).resourceCountIs("AWS::SecretsManager::Secret", 1);
    expect(() => queue.webhookSecret("orders")).toThrow(
      'topic "orders" has no webhook; topics with a webhook: mail',
    );
  });

  it("takes no other consumer", () => {
    const { stack, queue } = shopWith({ topics: { mail: MAIL } });
    expect(() => queue.addConsumer("mail", someFunction(stack, "Close"))).toThrow(
      'topic "mail" is a webhook topic: only a topic without a webhook can have a function',
    );
  });

  it("deletes its secret with a removable stack", () => {
    const removable = templateOf(shopWith({ topics: { mail: MAIL }, removable: true }).stack);
    expect(only(removable, "AWS::SecretsManager::Secret", "Jobs").DeletionPolicy).toBe("Delete");
  });

  it("encrypts its secret with a customer's key, which its function may use", () => {
    const app = new App();
    const stack = new Stack(app, "Shop");
    const encryptionKey = new Key(stack, "Key", { enableKeyRotation: true });
    const queue = new DelayQueue(stack, "Jobs", { topics: { mail: MAIL }, encryptionKey });
    const encrypted = templateOf(stack);
    const secret = only(encrypted, "AWS::SecretsManager::Secret", "Jobs");
    expect(secret.Properties.KmsKeyId).toBeDefined();
    const policy = JSON.stringify(only(encrypted, "AWS::IAM::Policy", "JobsWebhookmail"));
    expect(policy).toContain("kms:Decrypt");
    expect(policy).not.toContain("*");
    expect(new AwsSolutionsChecks(app).validateScope(queue).violations).toEqual([]);
  });
});
