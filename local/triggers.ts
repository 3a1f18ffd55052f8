import { SendMessageCommand, type SQSClient } from "@aws-sdk/client-sqs";
import { startEventSource } from "./event-source.ts";
import type { Outcome } from "./execution-environment.ts";
import type { FunctionPool } from "./function-pool.ts";
import type { HttpApi } from "./http-api.ts";
import { LocalError } from "./local-error.ts";
import { startMinuteClock } from "./minute-clock.ts";
import type { StackSpec } from "./resources.ts";
import { parseRoute } from "./routes.ts";
import { scheduledEvent } from "./scheduled-event.ts";
import type { OwnServices } from "./services/own-services.ts";
import type { InvokeResult } from "./services/schedule-firing.ts";

const MINUTE_MS = 60_000;
/** Ctrl-C must feel immediate, so running work gets only half a second. */
const HTTP_GRACE_MS = 500;
const FUNCTION_GRACE_MS = 500;

type Dependencies = {
  readonly pools: readonly FunctionPool[];
  readonly invoke: (pool: FunctionPool, event: unknown) => Promise<Outcome>;
  readonly api: HttpApi;
  readonly sqs: SQSClient;
  readonly services: Pick<OwnServices, "scheduler" | "eventBridge" | "eventSourceMappings" | "invocations">;
  readonly account: string;
  /** Whether scheduled rules fire at once and then at their rates. */
  readonly tick: boolean;
  readonly log: (line: string) => void;
};

export type Triggers = {
  /** Fires every scheduled rule now. */
  readonly fireRules: () => Promise<Outcome[]>;
  /** Stops all triggers, and ends the processes of all functions. */
  readonly stop: () => Promise<void>;
};

/** Starts everything that invokes functions (routes, queues, scheduled rules, schedules), and the delivery of events to queues. */
export function startTriggers(stack: StackSpec, dependencies: Dependencies): Triggers {
  const { pools, invoke, api, sqs, services, account, tick, log } = dependencies;
  const poolOf = (arn: string): FunctionPool => {
    const pool = pools.find(({ spec }) => spec.arn === arn);
    if (!pool) throw new LocalError(`the template has no function ${arn}`);
    return pool;
  };
  const warmAndCall = (arn: string) => {
    const pool = poolOf(arn);
    pool.warm();
    return (event: object) => invoke(pool, event);
  };

  const rules = stack.rules.map(({ functionArns, ...rule }) => ({
    ...rule,
    calls: functionArns.map(warmAndCall),
  }));
  /** `minute`, in ms since the epoch, chooses the rules that are due. Without it every rule fires. */
  const fireRules = (minute?: number): Promise<Outcome>[] => {
    const due = rules.filter(
      ({ everyMinutes }) => minute === undefined || (minute / MINUTE_MS) % everyMinutes === 0,
    );
    return due.flatMap(({ arn, calls }) =>
      calls.map((call) => call(scheduledEvent(arn, minute ?? Date.now()))),
    );
  };
  const urlOf = (queueArn: string): string => {
    const queue = stack.queues.find(({ arn }) => arn === queueArn);
    if (!queue) throw new LocalError(`the template has no queue ${queueArn}`);
    return queue.url;
  };
  const sources = stack.eventSources.map((spec) => {
    const [queueUrl, call] = [urlOf(spec.queueArn), warmAndCall(spec.functionArn)];
    return { spec, start: () => startEventSource(spec, { queueUrl, invoke: call, client: sqs, log }) };
  });
  const targets = new Map(
    stack.eventRules.flatMap(({ queueArns }) => queueArns.map((arn) => [arn, urlOf(arn)])),
  );
  const fireSchedule = async (functionArn: string, event: unknown): Promise<InvokeResult> => {
    const pool = pools.find(({ spec }) => spec.arn === functionArn);
    if (pool) return (await invoke(pool, event)).outcome === "returned" ? "done" : "failed";
    log(`a schedule's target is ${functionArn}, which is no function of the template`);
    return "refused";
  };
  const routes = stack.routes.map(({ key, functionArn, timeoutMs }) =>
    parseRoute(key, { invoke: warmAndCall(functionArn), timeoutMs }),
  );

  api.serve(routes, account);
  services.eventSourceMappings.start(sources);
  services.invocations.start((name, event) => {
    const pool = pools.find(({ spec }) => spec.name === name || spec.arn === name);
    if (pool) void invoke(pool, event);
    return pool !== undefined;
  });
  services.eventBridge?.start({
    rules: stack.eventRules,
    buses: stack.eventBuses,
    send: (arn, body) => sqs.send(new SendMessageCommand({ QueueUrl: targets.get(arn), MessageBody: body })),
    log,
  });
  if (!services.eventBridge && stack.eventRules.length > 0)
    log(
      "left out: the template's event rules, because AWS_ENDPOINT_URL_EVENTBRIDGE names another EventBridge",
    );
  const schedules = services.scheduler?.start({ random: Math.random, invoke: fireSchedule, log });
  if (tick) fireRules();
  const clock = tick ? startMinuteClock(fireRules) : undefined;

  return {
    fireRules: () => Promise.all(fireRules()),
    stop: async () => {
      // First no trigger starts new work. Ending the functions' processes then ends the requests and pollers that wait for them.
      clock?.stop();
      schedules?.stop();
      const quiet = [api.stop(HTTP_GRACE_MS), services.eventSourceMappings.stop()];
      await Promise.all(pools.map((pool) => pool.stop(FUNCTION_GRACE_MS)));
      await Promise.all(quiet);
    },
  };
}
