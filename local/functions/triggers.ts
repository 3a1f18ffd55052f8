import { SendMessageCommand, type SQSClient } from "@aws-sdk/client-sqs";
import { LocalError } from "../local-error.ts";
import type { Clock } from "../services/clock.ts";
import type { StartableSource } from "../services/event-source-mappings.ts";
import type { OwnServices } from "../services/own-services.ts";
import type { InvokeResult } from "../services/schedule-firing.ts";
import type { QueueSpec, StackSpec } from "../template/resources.ts";
import { startEventSource } from "./event-source.ts";
import type { Outcome } from "./execution-environment.ts";
import type { FunctionPool } from "./function-pool.ts";
import type { HttpApi } from "./http-api.ts";
import { startMinuteClock } from "./minute-clock.ts";
import { parseRoute } from "./routes.ts";
import { scheduledEvent } from "./scheduled-event.ts";

const MINUTE_MS = 60_000;
/** Ctrl-C must feel immediate, so running work gets only half a second. */
const HTTP_GRACE_MS = 500;
const FUNCTION_GRACE_MS = 500;
/** Of a queue that names none ("VisibilityTimeout", Amazon SQS API Reference). */
const USUAL_VISIBILITY_S = 30;

type Dependencies = {
  readonly pools: readonly FunctionPool[];
  readonly invoke: (pool: FunctionPool, event: unknown, caller?: AbortSignal) => Promise<Outcome>;
  readonly api: HttpApi;
  readonly sqs: SQSClient;
  readonly services: Pick<OwnServices, "scheduler" | "eventBridge" | "eventSourceMappings" | "invocations">;
  readonly account: string;
  readonly tick: boolean;
  readonly clock: Clock;
  readonly log: (line: string) => void;
};

export type Triggers = {
  readonly fireRules: () => Promise<Outcome[]>;
  /** Fires the rules of the latest minute, if the clock was moved into a new one. */
  readonly checkMinute: () => void;
  readonly stop: () => Promise<void>;
};

/** Starts everything that invokes functions (routes, queues, scheduled rules, schedules), and the delivery of events to queues. */
export function startTriggers(stack: StackSpec, dependencies: Dependencies): Triggers {
  const { pools, api, services, account, tick, clock, log } = dependencies;
  const warmAndCall = (arn: string): Call => {
    const pool = pools.find(({ spec }) => spec.arn === arn);
    if (!pool) throw new LocalError(`the template has no function ${arn}`);
    pool.warm();
    return (event, caller) => dependencies.invoke(pool, event, caller);
  };
  const fireRules = rulesOf(stack, warmAndCall, clock);
  const sources = eventSourcesOf(stack, warmAndCall, dependencies);
  const queueUrls = new Map(
    stack.eventRules.flatMap(({ queueArns }) => queueArns.map((arn) => [arn, queueOf(stack, arn).url])),
  );
  const routes = stack.routes.map(({ key, functionArn, timeoutMs }) =>
    parseRoute(key, { invoke: warmAndCall(functionArn), timeoutMs }),
  );

  api.serve(routes, account, clock.now);
  services.eventSourceMappings.start(sources);
  startInvocations(dependencies);
  startEvents(stack, queueUrls, dependencies);
  const invoke = (functionArn: string, event: unknown) => fireSchedule(functionArn, event, dependencies);
  const schedules = services.scheduler?.start({ random: Math.random, invoke, log });
  if (tick) fireRules();
  const minutes = tick ? startMinuteClock(fireRules, clock) : undefined;

  return {
    fireRules: () => Promise.all(fireRules()),
    checkMinute: () => minutes?.check(),
    stop: async () => {
      // First no trigger starts new work. Ending the functions' processes then ends the requests and pollers that wait for them.
      minutes?.stop();
      schedules?.stop();
      const quiet = [api.stop(HTTP_GRACE_MS), services.eventSourceMappings.stop()];
      await Promise.all(pools.map((pool) => pool.stop(FUNCTION_GRACE_MS)));
      await Promise.all(quiet);
    },
  };
}

type Call = (event: object, caller?: AbortSignal) => Promise<Outcome>;
type CallOf = (functionArn: string) => Call;

/** `minute`, in ms since the epoch, chooses the rules that are due. Without it every rule fires. */
function rulesOf(
  stack: StackSpec,
  warmAndCall: CallOf,
  { now }: Clock,
): (minute?: number) => Promise<Outcome>[] {
  const rules = stack.rules.map(({ functionArns, ...rule }) => ({
    ...rule,
    calls: functionArns.map(warmAndCall),
  }));
  return (minute) => {
    const due = rules.filter(
      ({ everyMinutes }) => minute === undefined || (minute / MINUTE_MS) % everyMinutes === 0,
    );
    return due.flatMap(({ arn, calls }) => calls.map((call) => call(scheduledEvent(arn, minute ?? now()))));
  };
}

function eventSourcesOf(
  stack: StackSpec,
  warmAndCall: CallOf,
  { sqs: client, log }: Dependencies,
): StartableSource[] {
  return stack.eventSources.map((spec) => {
    const { url: queueUrl, attributes } = queueOf(stack, spec.queueArn);
    const visibilitySeconds = Number(attributes.VisibilityTimeout ?? USUAL_VISIBILITY_S);
    const invoke = warmAndCall(spec.functionArn);
    return {
      spec,
      start: () => startEventSource(spec, { queueUrl, visibilitySeconds, invoke, client, log }),
    };
  });
}

function queueOf({ queues }: StackSpec, queueArn: string): QueueSpec {
  const queue = queues.find(({ arn }) => arn === queueArn);
  if (!queue) throw new LocalError(`the template has no queue ${queueArn}`);
  return queue;
}

function startInvocations({ services, pools, invoke }: Dependencies): void {
  services.invocations.start((name, event) => {
    // A qualified name or ARN ends with a version or an alias, and there is one version here.
    const pool = pools.find(({ spec }) => [spec.name, spec.arn].some((one) => isOf(one, name)));
    return pool && invoke(pool, event);
  });
}

function isOf(unqualified: string, name: string): boolean {
  return name === unqualified || name.startsWith(`${unqualified}:`);
}

/** `queueUrls`: the URLs of the queues that get events, by their ARNs. */
function startEvents(
  { eventRules: rules, eventBuses: buses, eventSources, functions }: StackSpec,
  queueUrls: ReadonlyMap<string, string>,
  { services: { eventBridge }, sqs, log }: Dependencies,
): void {
  const appliers = new Set(
    functions.filter(({ environment }) => environment.MINUTEHAND_EVENTS).map(({ arn }) => arn),
  );
  const applying = eventSources.filter(({ functionArn }) => appliers.has(functionArn));
  eventBridge?.start({
    rules,
    buses,
    applyingQueues: new Set(applying.map(({ queueArn }) => queueArn)),
    send: (arn, body) =>
      sqs.send(new SendMessageCommand({ QueueUrl: queueUrls.get(arn), MessageBody: body })),
    log,
  });
  if (!eventBridge && rules.length > 0)
    log(
      "left out: the template's event rules, because AWS_ENDPOINT_URL_EVENTBRIDGE names another EventBridge",
    );
}

async function fireSchedule(
  functionArn: string,
  event: unknown,
  { pools, invoke, log }: Dependencies,
): Promise<InvokeResult> {
  const pool = pools.find(({ spec }) => spec.arn === functionArn);
  if (pool) return (await invoke(pool, event)).outcome === "returned" ? "done" : "failed";
  log(`a schedule's target is ${functionArn}, which is no function of the template`);
  return "refused";
}
