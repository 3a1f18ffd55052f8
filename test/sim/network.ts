import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import type { LambdaClient } from "@aws-sdk/client-lambda";
import type { SchedulerClient } from "@aws-sdk/client-scheduler";
import type { SQSClient } from "@aws-sdk/client-sqs";
import { chainLength } from "../../local/functions/recursive-loop.ts";
import { REQUEST_TIMEOUT } from "../../src/aws/clients.ts";
import { type Draws, drawsOf } from "./draws.ts";
import type { Fate } from "./faults/fate.ts";
import type { Machine } from "./machine.ts";
import { problem, type Service } from "./services/service.ts";
import type { Timeline } from "./timeline.ts";

type Args = { readonly input: object; readonly request: { readonly headers: Record<string, string> } };
type Handler = (args: Args) => Promise<{ output: unknown }>;
type Middleware = (next: Handler) => Handler;
type Place = { readonly name: string; readonly step: string; readonly priority: string };

type Command = {
  readonly input: object;
  readonly constructor: { readonly name: string };
  readonly middlewareStack: {
    add(middleware: Middleware, place: Place): void;
    resolve(handler: Handler, context: object): Handler;
  };
};

/** `chain`: how many invocations, one after another, led to this call, by the trace header of its request. */
export type Call = {
  machine: Machine;
  index: number;
  service: string;
  operation: string;
  input: object;
  chain: number;
};

export type Network = {
  readonly timeline: Timeline;
  readonly seed: number;
  fateOf(call: Call, draws: Draws): Fate;
  /** Called just before a try takes effect. `isAnswered`: whether the caller will get the answer. */
  beforeEffect(call: Call, isAnswered: boolean): void;
  onArrival(call: Call, outcome: "answered" | Error): void;
};

/** AWS refuses a request with an older signature, so the request never takes effect. ms. */
const SIGNATURE_LIFE = 300_000;
/** The SDK's standard retry mode. */
const TRIES = 3;
const FIRST_PAUSE = 100;
const TRACE = "X-Amzn-Trace-Id";

/** An SDK client whose requests cross this network. Each try of a real command passes the command's middleware, as in the SDK. */
export function clientOn<C extends DynamoDBClient | SQSClient | LambdaClient | SchedulerClient>(
  network: Network,
  machine: Machine,
  name: string,
  service: Service,
): C {
  const own: [Middleware, Place][] = [];
  const retrying: Middleware = (next) => async (args) => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await next(args);
      } catch (thrown) {
        if (attempt === TRIES || !isRetried(thrown)) throw thrown;
        const [byte = 0] = machine.random(1);
        await machine.timers.wait((FIRST_PAUSE * 2 ** attempt * byte) / 256);
      }
    }
  };
  const send = async (command: Command, options: { requestTimeout?: number } = {}): Promise<unknown> => {
    const timeout = options.requestTimeout ?? REQUEST_TIMEOUT;
    const operation = command.constructor.name.replace(/Command$/, "");
    command.middlewareStack.add(retrying, {
      name: "retryMiddleware",
      step: "finalizeRequest",
      priority: "high",
    });
    for (const [middleware, place] of own) command.middlewareStack.add(middleware, place);
    const { input } = command;
    const handler = command.middlewareStack.resolve(async ({ request }) => {
      const chain = chainLength(request.headers[TRACE]);
      const call = { machine, index: machine.nextCall(), service: name, operation, input, chain };
      return { output: await tryOnce(network, call, service, timeout) };
    }, {});
    // The SDK adds the trace of the invocation to each request.
    const headers = { [TRACE]: `Root=1-0-0;Lineage=1:0:${machine.chain}` };
    return (await handler({ input, request: { headers } })).output;
  };
  const add = (middleware: Middleware, place: Place): void => void own.push([middleware, place]);
  return { send, middlewareStack: { add } } as unknown as C;
}

function isRetried(thrown: unknown): boolean {
  const { name, $metadata } = thrown as { name: string; $metadata?: { httpStatusCode?: number } };
  return (
    name === "TimeoutError" ||
    // The SDK retries this error, because it takes the clock for wrong: a process may have frozen between signing and sending.
    name === "RequestExpired" ||
    name === "ProvisionedThroughputExceededException" ||
    ($metadata?.httpStatusCode ?? 0) >= 500
  );
}

function tryOnce(network: Network, call: Call, service: Service, timeout: number): Promise<unknown> {
  const { timeline } = network;
  const { machine } = call;
  // The machine died at this very moment, so its request is not sent.
  if (!machine.alive()) return new Promise(() => {});
  const draws = drawsOf(network.seed, `${machine.name}#${call.index}`);
  const fate = network.fateOf(call, draws);
  return new Promise((resolve, reject) => {
    if (fate.crash === "before") return machine.kill();
    if (fate.freeze > 0) machine.freeze(fate.freeze);
    const issued = timeline.now();
    const tell = tellOnce(timeline, machine);
    const answersAt = issued + fate.request + fate.answer;
    const isInTime = answersAt <= issued + timeout;
    if (!isInTime) {
      const late = Object.assign(new Error(`no answer within ${timeout} ms`), { name: "TimeoutError" });
      tell(issued + timeout, () => reject(late));
    }
    // Killed by a later event, because a machine cannot die inside its own synchronous call.
    if (fate.crash === "under way") timeline.at(issued, () => machine.kill());
    if (fate.request === Number.POSITIVE_INFINITY) return;
    timeline.at(issued + fate.request, () => {
      const outcome = perform({ network, call, service, fate, draws, isInTime });
      network.onArrival(call, "error" in outcome ? outcome.error : "answered");
      if (fate.crash === "after") machine.kill();
      if (fate.answer === Number.POSITIVE_INFINITY) return;
      tell(answersAt, () => ("error" in outcome ? reject(outcome.error) : resolve(outcome.output)));
    });
  });
}

/** Makes a function that tells a machine something at a time. The machine hears only the first that reaches it. */
function tellOnce(timeline: Timeline, machine: Machine): (time: number, act: () => void) => void {
  let told = false;
  return (time, act) =>
    timeline.at(time, () =>
      machine.deliver(() => {
        if (!told) act();
        told = true;
      }),
    );
}

type Arrival = {
  network: Network;
  call: Call;
  service: Service;
  fate: Fate;
  draws: Draws;
  isInTime: boolean;
};

function perform(arrival: Arrival): { output: unknown } | { error: Error } {
  const { network, call, service, fate, draws, isInTime } = arrival;
  try {
    if (fate.request > SIGNATURE_LIFE) throw problem("RequestExpired", "the signature is too old", 403);
    if (fate.refusal) throw fate.refusal;
    const trouble = {
      entryFails: (item?: string, pk?: string) => fate.entryFails(draws, item, pk),
      chain: call.chain,
    };
    const isAnswered = isInTime && fate.answer < Number.POSITIVE_INFINITY;
    network.beforeEffect(call, isAnswered && !fate.refusalAfter && fate.crash === undefined);
    const output = service.perform(call.operation, call.input, trouble);
    if (fate.refusalAfter) throw fate.refusalAfter;
    return { output };
  } catch (thrown) {
    return { error: thrown as Error };
  }
}
