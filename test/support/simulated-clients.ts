import { simulatedDynamo } from "../sim/services/dynamo.ts";
import { NO_TROUBLE, type Service } from "../sim/services/service.ts";
import { simulatedSqs } from "../sim/services/sqs.ts";

/** Takes the place of `src/aws/clients.ts` in `plain-path.ts`. The simulator's services answer. The program sets `Date.now()`. */
export * from "../../src/aws/clients.ts";

export const PREFIX = "queue-";
export const TOPIC = "orders";

const now = (): number => Date.now();
export const requests: string[] = [];

export const dynamo = simulatedDynamo({
  clock: now,
  createdAt: now() - 600_000,
  pageItems: 1000,
  onWrite: () => {},
});
export const sqs = simulatedSqs({
  clock: now,
  topics: [`${PREFIX}${TOPIC}`],
  inFlight: () => 120_000,
  pick: () => 0,
  onVisible: () => {},
  onSent: () => {},
  onRefused: () => {},
  unwanted: "a text that no test sends",
});

export const dynamoClient = (): unknown => clientOf(dynamo);
export const sqsClient = (): unknown => clientOf(sqs);

type Handler = (args: object) => Promise<{ output: unknown }>;
type Middleware = (next: Handler) => Handler;
type Stack = {
  add(middleware: Middleware, place: object): void;
  resolve(handler: Handler, context: object): Handler;
};
type Command = { input: object; constructor: { name: string }; middlewareStack: Stack };

function clientOf(service: Service) {
  const own: [Middleware, object][] = [];
  const send = async (command: Command): Promise<unknown> => {
    const { input, middlewareStack } = command;
    const operation = command.constructor.name.replace(/Command$/, "");
    // The place after which `src/aws/deadlines.ts` adds its check.
    middlewareStack.add((next) => next, { name: "retryMiddleware", step: "finalizeRequest" });
    for (const [middleware, place] of own) middlewareStack.add(middleware, place);
    const handler = middlewareStack.resolve(async () => {
      requests.push(operation);
      return { output: service.perform(operation, input, NO_TROUBLE), response: {} };
    }, {});
    return (await handler({ input, request: { headers: {} } })).output;
  };
  const add = (middleware: Middleware, place: object): void => void own.push([middleware, place]);
  return { send, middlewareStack: { add } };
}
