import { Duration, Validations } from "aws-cdk-lib";
import type { IKey } from "aws-cdk-lib/aws-kms";
import type { EventSourceMapping, Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import { Secret } from "aws-cdk-lib/aws-secretsmanager";
import { Construct } from "constructs";
import { LAST_START } from "../core/constants.ts";
import { topicPolicy, webhookPolicy } from "../core/policy.ts";
import { inSeconds } from "../core/topic-settings.ts";
import { grantSecret } from "./access.ts";
import { BundledFunction } from "./bundled-function.ts";
import { bundleOf } from "./bundles.ts";
import { connectConsumer } from "./consumer.ts";
import type { PoolTable } from "./job-pool.ts";
import { secondsOf } from "./policy.ts";
import { removalOf } from "./removal.ts";
import type { TopicQueues } from "./topic-queues.ts";

export type WebhookProps = {
  readonly queues: TopicQueues;
  readonly table: PoolTable;
  readonly encryptionKey: IKey | undefined;
  readonly removable: boolean;
  readonly tracing: boolean;
};

/** Base64 of 33 bytes; Standard Webhooks asks for 24 to 64. */
const SECRET_CHARS = 44;
/** Rounds of calls that all time out and still fit into one invocation. */
const ROUNDS = 4;
const MEMORY_MIB = 512;
/**
 * Seconds that looking a name up may take: "resolv.conf", Linux, asks a silent name server twice for 5 seconds, or two servers.
 * Nobody can end it sooner, not even when its call has been given up.
 */
const LONGEST_LOOKUP = 20;
const LEAST_LOOKUPS = 32;
/** Invocations at once: a receiver is not to meet all that the account allows. */
const DEFAULT_CONCURRENCY = 5;

/** A webhook topic's consumer: the function that calls its receivers, and the secret that signs the calls. */
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
        "Receivers have to learn a new secret first, so its time is the user's to choose: docs/guides/webhooks.md",
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
    // Node looks hosts up in its thread pool: one whose name server never answers must not keep the others waiting.
    const { concurrency = topicPolicy({}).concurrency } = settings;
    this.fn.addEnvironment("UV_THREADPOOL_SIZE", String(lookupsFor(concurrency, timeout)));
    this.fn.addEnvironment("MINUTEHAND_WEBHOOK_TOPIC", topic);
    this.fn.addEnvironment("MINUTEHAND_WEBHOOK_SECRET", this.secret.secretArn);
    grantSecret(this.fn, this.secret);
    this.eventSource = connectConsumer(this.fn, queues, table, DEFAULT_CONCURRENCY);
  }
}

/**
 * How long an invocation may take whose calls take `seconds` at most. No call is begun that long and `LAST_START`
 * before its end, so all but the last round is time to begin others. A longer one would only make a crash be
 * noticed later: the visibility timeout and the leases follow it.
 */
function timeoutFor(seconds: number): Duration {
  return Duration.seconds(ROUNDS * seconds + (2 * LAST_START) / 1000);
}

/** How many names are looked up at once when no name server answers: each call in turn leaves a lookup behind. */
function lookupsFor(concurrency: number, timeout: number): number {
  return Math.max(LEAST_LOOKUPS, concurrency * Math.ceil(LONGEST_LOOKUP / timeout) + 1);
}
