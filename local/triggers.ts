import type { SQSClient } from "@aws-sdk/client-sqs";
import type { Outcome } from "./environment.ts";
import { startEventSource } from "./event-source.ts";
import type { FunctionPool } from "./function-pool.ts";
import type { HttpApi } from "./http-api.ts";
import { LocalError } from "./local-error.ts";
import { scheduledEvent, startMinuteClock } from "./minute-clock.ts";
import type { Stack } from "./resources.ts";
import { parseRoute } from "./routes.ts";

const MINUTE_MS = 60_000;
const HTTP_GRACE_MS = 500;
const FUNCTION_GRACE_MS = 500;

type Surroundings = {
  readonly pools: readonly FunctionPool[];
  readonly invoke: (pool: FunctionPool, event: object) => Promise<Outcome>;
  readonly api: HttpApi;
  readonly sqs: SQSClient;
  readonly account: string;
  /** Whether the rules fire of themselves: at once and then each minute. */
  readonly tick: boolean;
  readonly log: (line: string) => void;
};

export type Triggers = { readonly fireRules: () => Promise<Outcome[]>; readonly stop: () => Promise<void> };

/** Lets routes, queues and rules call their functions. Stopping ends the functions' processes too. */
export function startTriggers(stack: Stack, surroundings: Surroundings): Triggers {
  const { pools, invoke, api, sqs, account, tick, log } = surroundings;
  const find = (arn: string): FunctionPool => {
    const pool = pools.find(({ spec }) => spec.arn === arn);
    if (!pool) throw new LocalError(`the template has no function ${arn}`);
    return pool;
  };
  const caller = (arn: string) => {
    const pool = find(arn);
    pool.warm();
    return (event: object) => invoke(pool, event);
  };

  const rules = stack.rules.map(({ functionArns, ...rule }) => ({
    ...rule,
    calls: functionArns.map(caller),
  }));
  const fire = (minute: number | undefined): Promise<Outcome>[] => {
    const due = rules.filter(
      ({ everyMinutes }) => minute === undefined || (minute / MINUTE_MS) % everyMinutes === 0,
    );
    return due.flatMap(({ arn, calls }) =>
      calls.map((call) => call(scheduledEvent(arn, minute ?? Date.now()))),
    );
  };
  const sources = stack.eventSources.map((spec) => {
    const queue = stack.queues.find(({ arn }) => arn === spec.queueArn);
    if (!queue) throw new LocalError(`the template has no queue ${spec.queueArn}`);
    return { spec, queueUrl: queue.url, invoke: caller(spec.functionArn) };
  });
  const routes = stack.routes.map(({ key, functionArn, timeoutMs }) =>
    parseRoute(key, { invoke: caller(functionArn), timeoutMs }),
  );

  api.serve(routes, account);
  const started = sources.map(({ spec, ...source }) =>
    startEventSource(spec, { ...source, client: sqs, log }),
  );
  if (tick) fire(undefined);
  const clock = tick ? startMinuteClock(fire) : undefined;

  return {
    fireRules: () => Promise.all(fire(undefined)),
    stop: async () => {
      // Nothing new is taken; what runs gets a moment, then its process ends, and with it whoever waits for it.
      clock?.stop();
      const quiet = [api.stop(HTTP_GRACE_MS), ...started.map((source) => source.stop())];
      await Promise.all(pools.map((pool) => pool.stop(FUNCTION_GRACE_MS)));
      await Promise.all(quiet);
    },
  };
}
