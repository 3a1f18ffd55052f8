import { readFileSync } from "node:fs";
import { GetQueueAttributesCommand, type SQSClient } from "@aws-sdk/client-sqs";
import { codeFile } from "./functions/code-file.ts";
import { errorText } from "./local-error.ts";
import { jsonFile } from "./services/json-file.ts";
import { goneTopicText, topicsOfFunction } from "./template/delay-queue.ts";
import { displayName } from "./template/display-name.ts";
import type { QueueSpec, StackSpec } from "./template/resources.ts";
import { isLoopback } from "./web-page.ts";

/** A minute, because the sweep sends jobs to the queues each minute. */
const ADVISE_EVERY_MS = 60_000;

type AdviserOptions = {
  readonly countMessages: (queue: QueueSpec) => Promise<number>;
  readonly log: (line: string) => void;
};

/**
 * Makes a function that logs warnings of the synthesis, handlers that run no job, targets that are not here, webhooks that leave this
 * machine, and jobs that nobody runs. Each is logged once, and again only if its reason was gone in between. The function answers all warnings.
 */
export function createAdviser({
  countMessages,
  log,
}: AdviserOptions): (stack: StackSpec) => Promise<string[]> {
  let logged: ReadonlySet<string> = new Set();
  return async (stack) => {
    const lines = new Set([...adviceOn(stack), ...(await abandonedJobs(stack, countMessages))]);
    for (const line of lines) if (!logged.has(line)) log(`warning: ${line}`);
    logged = lines;
    return [...lines];
  };
}

type RegularOptions = AdviserOptions & { readonly onAdvice: (advice: readonly string[]) => void };

/** Repeats the check each minute, because a job may be due later. `follow` checks the stack that runs after a reload. */
export async function adviseRegularly(
  started: StackSpec,
  { onAdvice, ...options }: RegularOptions,
): Promise<{ readonly follow: (stack: StackSpec) => void; readonly stop: () => void }> {
  const advise = createAdviser(options);
  const check = (stack: StackSpec) =>
    advise(stack)
      .then(onAdvice)
      .catch((error) => options.log(`the queues of the stack could not be checked: ${errorText(error)}`));
  let current = started;
  await check(current);
  const timer = setInterval(() => void check(current), ADVISE_EVERY_MS).unref();
  return {
    follow: (stack) => {
      current = stack;
      void check(stack);
    },
    stop: () => clearInterval(timer),
  };
}

/**
 * The warnings that are not repeated here: of unwrapped handlers, for which the runner looks itself, because a reload of a handler needs no
 * synthesis; of removed topics, of which `goneTopics` tells for this stack; and of alarms, none of which rings on this machine.
 */
const NOT_REPEATED = /\[ack: minutehand:(not-wrapped:|removed-topic:|alarms\])/;

function adviceOn(stack: StackSpec): string[] {
  const warnings = stack.warnings.filter((warning) => !NOT_REPEATED.test(warning));
  return [
    // The CDK appends how an app acknowledges the warning, which a file of `minutehand template` cannot.
    ...warnings.map((warning) => warning.replace(/ \[ack: [^\]]*\]$/, "").replaceAll("\n", " ")),
    ...unwrappedHandlers(stack).map(
      (topic) =>
        `the handler of topic "${topic}" is not wrapped with consumer(…), so it gets SQS's event and runs no job`,
    ),
    ...absentTargets(stack),
    ...farWebhooks(stack),
  ];
}

function absentTargets(stack: StackSpec): string[] {
  return stack.functions.flatMap((spec) => {
    const { MINUTEHAND_TARGET: target } = spec.environment;
    const isHere = stack.functions.some(({ arn }) => target === arn || target?.startsWith(`${arn}:`));
    if (target === undefined || isHere) return [];
    return `the target of topic "${displayName(spec, stack)}" does not run here: its jobs fail, because the stack has no function ${target}. Declare the function in the app, or name its code as "localHandler" of the target in minutehand.json`;
  });
}

/** A developer may not know that a job of this machine calls the server of the deployed stack. */
function farWebhooks({ functions }: StackSpec): string[] {
  const urls = functions.flatMap((spec) =>
    Object.entries(topicsOfFunction(spec)).flatMap(([topic, { webhook }]): [string, string][] => {
      const { hostname, href } = URL.parse(webhook?.url ?? "") ?? {};
      return hostname === undefined || href === undefined || isLoopback(hostname) ? [] : [[topic, href]];
    }),
  );
  return [...new Map(urls)].map(
    ([topic, url]) =>
      `jobs of topic "${topic}" without a callbackUrl call ${url}, which is not on this machine`,
  );
}

/** What shows that a bundle contains `consumer`: the name of a property of its result, or the name of an external import. */
const MARKS_OF_CONSUMER = /\bjobHandler\b|minutehand\/consumer/;

function unwrappedHandlers(stack: StackSpec): string[] {
  return stack.functions.flatMap((spec) => {
    const file = codeFile(spec.codeDir, spec.handler);
    const runsJobs =
      spec.bundle?.build && stack.eventSources.some(({ functionArn }) => functionArn === spec.arn);
    if (file === undefined || !runsJobs) return [];
    return MARKS_OF_CONSUMER.test(readFileSync(file, "utf8")) ? [] : displayName(spec, stack);
  });
}

async function abandonedJobs(
  stack: StackSpec,
  countMessages: AdviserOptions["countMessages"],
): Promise<string[]> {
  const lines = queuesWithoutConsumer(stack).map(async ([topic, queue]) =>
    (await countMessages(queue)) > 0
      ? `jobs of topic "${topic}" are due and nobody runs them: the stack has no consumer for the topic`
      : [],
  );
  return (await Promise.all(lines)).flat();
}

/** The ready queues of topics that neither a function nor a pull consumer empties. */
function queuesWithoutConsumer({ functions, queues, eventSources }: StackSpec): [string, QueueSpec][] {
  const all = functions.flatMap((spec) => {
    const prefix = spec.environment.MINUTEHAND_QUEUE_URL_PREFIX?.split("/").at(-1) ?? "";
    return Object.entries(topicsOfFunction(spec)).flatMap(([topic, { consumer }]): [string, QueueSpec][] => {
      const queue = queues.find(({ name }) => name === prefix + topic);
      const isConsumed = eventSources.some(({ queueArn }) => queueArn === queue?.arn);
      return queue === undefined || consumer === "pull" || isConsumed ? [] : [[topic, queue]];
    });
  });
  // Several functions have the topics of the same delay queue, so a queue can be found more than once.
  return [...new Map(all.map((entry) => [entry[1].arn, entry])).values()];
}

/** Warns of the topics that the last start has declared and this one has not. `file` keeps the topics for the next start. */
export function goneTopics({ functions }: StackSpec, file: string | undefined): string[] {
  const kept = jsonFile<readonly string[]>(file, []);
  const topics = new Set(functions.flatMap((spec) => Object.keys(topicsOfFunction(spec))));
  const gone = kept.read().filter((topic) => !topics.has(topic));
  kept.write([...topics]);
  return gone.map(goneTopicText);
}

export async function countMessages({ url }: QueueSpec, sqs: SQSClient): Promise<number> {
  const { Attributes = {} } = await sqs.send(
    new GetQueueAttributesCommand({
      QueueUrl: url,
      AttributeNames: ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"],
    }),
  );
  return Object.values(Attributes).reduce((sum, count) => sum + Number(count), 0);
}
