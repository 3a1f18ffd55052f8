import { Duration, Validations } from "aws-cdk-lib";
import type { IKey } from "aws-cdk-lib/aws-kms";
import type { EventSourceMapping, Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import { Secret } from "aws-cdk-lib/aws-secretsmanager";
import { Construct } from "constructs";
import { LAST_START_BEFORE_DEADLINE } from "../src/core/constants.ts";
import { topicPolicy, webhookPolicy } from "../src/settings/policy.ts";
import { inSeconds } from "../src/settings/topic-settings.ts";
import { grantSecret } from "./access.ts";
import { secondsOf } from "./app-duration.ts";
import { bundleOf } from "./bundles.ts";
import { BundledFunction } from "./bundling/bundled-function.ts";
import { connectConsumer } from "./consumer.ts";
import type { PoolTable } from "./job-pool.ts";
import { removalOf } from "./removal.ts";
import type { TopicQueues } from "./topic-queues.ts";

export type WebhookProps = {
  readonly queues: TopicQueues;
  readonly table: PoolTable;
  readonly encryptionKey: IKey | undefined;
  readonly removable: boolean;
  readonly tracing: boolean;
};

/** The base64 of 33 bytes. Standard Webhooks requires 24 to 64 bytes. */
const SECRET_CHARS = 44;
/** How many rounds of calls that all time out fit into one invocation. */
const ROUNDS = 4;
const MEMORY_MIB = 512;
/** Seconds. Linux asks each of two silent name servers twice, for 5 s each ("resolv.conf"), even after the lookup's call has timed out. */
const LONGEST_LOOKUP = 20;
const LEAST_LOOKUPS = 32;
/** How many invocations may run at once. Small, so that a receiver does not get as many calls as the account allows. */
const DEFAULT_CONCURRENCY = 5;

/** The function that calls a topic's receivers, and the secret that signs the calls. */
export class Webhook extends Construct {
  readonly fn: LambdaFunction;
  readonly secret: Secret;
  readonly eventSource: EventSourceMapping;

  constructor(scope: Construct, id: string, props: WebhookProps) {
    super(scope, id);
    const { queues, table, encryptionKey, removable, tracing } = props;
    const { topic, settings } = queues;
    this.secret = new Secret(this, "Secret", {
      description: `Signs the webhook calls of topic ${topic}`,
      generateSecretString: { passwordLength: SECRET_CHARS, excludePunctuation: true },
      removalPolicy: removalOf(removable),
      ...(encryptionKey === undefined ? {} : { encryptionKey }),
    });
    Validations.of(this.secret).acknowledge({
      id: "AwsSolutions-SMG4",
      reason:
        "Receivers must get a new secret before it is used, so the user chooses the time: docs/guides/webhooks.md",
    });
    const { timeout } = webhookPolicy(inSeconds(settings, secondsOf));
    this.fn = new BundledFunction(this, "Caller", {
      code: bundleOf("webhook"),
      description: `Calls the receivers of topic ${topic}`,
      timeout: timeoutFor(timeout),
      memoryMiB: MEMORY_MIB,
      removable,
      tracing,
    }).fn;
    // Node looks hosts up in its thread pool. With enough threads, a host whose name server never answers does not delay other hosts.
    const { concurrency = topicPolicy({}).concurrency } = settings;
    this.fn.addEnvironment("UV_THREADPOOL_SIZE", String(lookupsFor(concurrency, timeout)));
    this.fn.addEnvironment("MINUTEHAND_WEBHOOK_TOPIC", topic);
    this.fn.addEnvironment("MINUTEHAND_WEBHOOK_SECRET", this.secret.secretArn);
    grantSecret(this.fn, this.secret);
    this.eventSource = connectConsumer(this.fn, queues, table, DEFAULT_CONCURRENCY);
  }
}

/**
 * `seconds`: the longest call. No call begins in the last `seconds` plus `LAST_START_BEFORE_DEADLINE`: `ROUNDS - 1` rounds end before that,
 * and the last can still begin. A longer timeout would only delay the discovery of a crash, as visibility timeout and leases follow it.
 */
function timeoutFor(seconds: number): Duration {
  return Duration.seconds(ROUNDS * seconds + (2 * LAST_START_BEFORE_DEADLINE) / 1000);
}

/** How many lookups run at once if no name server answers: the lookup of a call goes on after the call has timed out. */
function lookupsFor(concurrency: number, timeout: number): number {
  return Math.max(LEAST_LOOKUPS, concurrency * Math.ceil(LONGEST_LOOKUP / timeout) + 1);
}
