import { vi } from "vitest";
import { callerOf } from "./port-calls.ts";
import type { AwsRequest } from "./rights.ts";

export type Recorded = AwsRequest & { by: string };

export type Recorder = {
  requests: Recorded[];
  /** By function: each place of the code that has called a port. */
  reached: Map<string, Set<string>>;
  /** Runs before each request is sent, and the request waits for it. An error that it throws counts as an error of the network. */
  before: (request: Recorded) => unknown;
  /** Loads a module as Lambda does, in modules of its own, and records what its clients do as `by`. */
  load<T>(by: string, module: () => Promise<T>): Promise<T>;
};

type Outgoing = { input: Record<string, unknown> };
type Next = (args: Outgoing) => Promise<unknown>;
type Client = {
  middlewareStack: {
    add(
      middleware: (next: Next, command: { commandName?: string }) => Next,
      options: { name: string; step: "finalizeRequest"; priority: "low" },
    ): void;
  };
};

export function createRecorder(): Recorder {
  const recorder: Recorder = {
    requests: [],
    reached: new Map(),
    before: () => {},
    async load(by, module) {
      const places = new Set<string>();
      recorder.reached.set(by, places);
      const watch: Watch = {
        recorded: (client) => recordedAs(by, client, recorder),
        traced: (port) => tracedIn(places, port),
      };
      vi.resetModules();
      mockClients(watch);
      mockContext(watch);
      mockScheduler(watch);
      const { hasWarmed } = mockEventSources(watch);
      mockSweepers(watch);
      const loaded = await module();
      await hasWarmed();
      return loaded;
    },
  };
  return recorder;
}

type Watch = {
  recorded<C>(client: C): C;
  traced<P extends object>(port: P): P;
};

/** Records in the SDK's step `finalizeRequest`: there each request is signed, and each retry of the SDK passes too. */
function recordedAs<C>(by: string, client: C, recorder: Recorder): C {
  const watch =
    (next: Next, { commandName = "none" }: { commandName?: string }): Next =>
    async (args) => {
      const request = { by, operation: commandName.replace(/Command$/, ""), input: args.input };
      recorder.requests.push(request);
      await recorder.before(request);
      return next(args);
    };
  const options = { name: "recorder", step: "finalizeRequest", priority: "low" } as const;
  (client as Client).middlewareStack.add(watch, options);
  return client;
}

function tracedIn<P extends object>(places: Set<string>, port: P): P {
  return new Proxy(port, {
    get(target, method: string) {
      const member = (target as Record<string, unknown>)[method];
      if (typeof member !== "function") return member;
      return (...args: unknown[]) => {
        places.add(callerOf(method));
        return member.apply(target, args);
      };
    },
  });
}

function mockClients({ recorded }: Watch): void {
  vi.doMock("../../src/aws/clients.ts", async (original) => {
    const actual = await original<typeof import("../../src/aws/clients.ts")>();
    return {
      ...actual,
      dynamoClient: () => recorded(actual.dynamoClient()),
      sqsClient: () => recorded(actual.sqsClient()),
      longPollClient: () => recorded(actual.longPollClient()),
      secretsClient: () => recorded(actual.secretsClient()),
    } satisfies typeof actual;
  });
  vi.doMock("../../src/aws/scheduler-client.ts", async (original) => {
    const actual = await original<typeof import("../../src/aws/scheduler-client.ts")>();
    return {
      schedulerClient: () => recorded(actual.schedulerClient()),
      promotionsClient: () => recorded(actual.promotionsClient()),
    } satisfies typeof actual;
  });
  vi.doMock("../../src/aws/lambda-client.ts", async (original) => {
    const actual = await original<typeof import("../../src/aws/lambda-client.ts")>();
    return {
      lambdaClient: () => recorded(actual.lambdaClient()),
      waitingClient: () => recorded(actual.waitingClient()),
    };
  });
}

function mockContext({ traced }: Watch): void {
  vi.doMock("../../src/environment/context.ts", async (original) => {
    const actual = await original<typeof import("../../src/environment/context.ts")>();
    const createContext: typeof actual.createContext = (...given) => {
      const ctx = actual.createContext(...given);
      return { ...ctx, pool: traced(ctx.pool), queues: traced(ctx.queues) };
    };
    return { ...actual, createContext };
  });
}

/** The real ports make their clients on first use, when another function may be loading. */
function mockScheduler({ traced }: Watch): void {
  vi.doMock("../../src/environment/scheduler.ts", async (original) => {
    const actual = await original<typeof import("../../src/environment/scheduler.ts")>();
    const { promotionsClient, schedulerClient } = await import("../../src/aws/scheduler-client.ts");
    const { schedulerPromotions } = await import("../../src/aws/promotions.ts");
    const { schedulerSchedules } = await import("../../src/aws/schedules.ts");
    const promotionsTo = (target: string) =>
      traced(schedulerPromotions({ client: promotionsClient(), target: JSON.parse(target) }));
    const schedulesTo = (target: string) =>
      traced(schedulerSchedules({ client: schedulerClient(), target: JSON.parse(target) }));
    const createScheduler: typeof actual.createScheduler = (environment = process.env) => {
      const { MINUTEHAND_PROMOTIONS: promotions, MINUTEHAND_SCHEDULES: schedules } = environment;
      return {
        ...(promotions && { promotions: promotionsTo(promotions) }),
        ...(schedules && { schedules: schedulesTo(schedules) }),
      };
    };
    return { createScheduler };
  });
}

/** `hasWarmed` resolves when the port has loaded its client. It loads it on first use, which must be before the next function is loaded. */
function mockEventSources({ traced }: Watch): { hasWarmed(): Promise<void> } {
  let warmed: Promise<void> | undefined;
  vi.doMock("../../src/environment/event-sources.ts", async (original) => {
    const actual = await original<typeof import("../../src/environment/event-sources.ts")>();
    const createEventSources: typeof actual.createEventSources = (environment) => {
      const sources = actual.createEventSources(environment);
      // No topic has this name.
      warmed = sources.enable("", true);
      return traced(sources);
    };
    return { ...actual, createEventSources };
  });
  return { hasWarmed: async () => warmed };
}

/** The real port makes its client on first use, when another function may be loading. */
function mockSweepers({ traced }: Watch): void {
  vi.doMock("../../src/environment/sweepers.ts", async (original) => {
    const actual = await original<typeof import("../../src/environment/sweepers.ts")>();
    const { lambdaClient } = await import("../../src/aws/lambda-client.ts");
    const { lambdaSweepers } = await import("../../src/aws/sweepers.ts");
    const createSweepers: typeof actual.createSweepers = (environment = process.env) => {
      const { most, wait } = actual.createSweepers(environment);
      const functionName = environment.AWS_LAMBDA_FUNCTION_NAME ?? "";
      return traced(lambdaSweepers({ client: lambdaClient(), functionName, most, wait }));
    };
    return { createSweepers };
  });
}
