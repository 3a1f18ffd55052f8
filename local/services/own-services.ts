import { randomBytes } from "node:crypto";
import type { DataFolder } from "../data-folder.ts";
import type { Endpoints } from "../functions/platform.ts";
import { externalEndpoint } from "../processes/external-endpoint.ts";
import type { AppliedEvents } from "./applied-events.ts";
import { startAwsEndpoint } from "./aws-endpoint.ts";
import { type Clock, systemClock } from "./clock.ts";
import { createEventBridgeService, type EventBridgeService } from "./event-bridge.ts";
import {
  createEventSourceMappings,
  type EventSourceMappings,
  type MappingStates,
} from "./event-source-mappings.ts";
import { createInvocations, type Invocations } from "./invocations.ts";
import { jsonFile } from "./json-file.ts";
import { type AwsLocation, createSchedulerService, type SchedulerService } from "./scheduler.ts";
import { type SecretsFile, secretsManagerOperations } from "./secrets-manager.ts";

export type OwnServices = {
  readonly url: string;
  readonly endpoints: Pick<Endpoints, "scheduler" | "secretsManager" | "eventBridge" | "lambda">;
  /** Absent if the environment names another Scheduler. */
  readonly scheduler: SchedulerService | undefined;
  /** Absent if the environment names another EventBridge. The runner then sends no events to queues. */
  readonly eventBridge: EventBridgeService | undefined;
  readonly eventSourceMappings: EventSourceMappings;
  readonly invocations: Invocations;
  readonly stop: () => Promise<void>;
};

/**
 * Serves what no emulator plays, on one port of loopback. Each service may run elsewhere, at its `AWS_ENDPOINT_URL_*`, except Lambda,
 * because the functions run here. Without a folder everything is kept in memory. The URL contains a key of this run, because other users of
 * this machine may neither read the secrets nor put events nor invoke functions.
 */
export async function startOwnServices(
  folder: DataFolder | undefined,
  location: AwsLocation,
  clock: Clock = systemClock,
  applied?: AppliedEvents,
): Promise<OwnServices> {
  const outer = await findOuterEndpoints();
  const services = createServices(folder, { ...location, clock, ...(applied && { applied }) }, outer);
  const { eventSourceMappings, invocations, scheduler, eventBridge, secretsManager } = services;
  const operations = {
    ...eventSourceMappings.operations,
    ...invocations.operations,
    ...scheduler?.operations,
    ...eventBridge?.operations,
    ...secretsManager,
  };
  const { url, stop } = await startAwsEndpoint(operations, { key: randomBytes(16).toString("hex") });
  return {
    url,
    endpoints: {
      scheduler: outer.scheduler ?? url,
      secretsManager: outer.secretsManager ?? url,
      eventBridge: outer.eventBridge ?? url,
      lambda: url,
    },
    scheduler,
    eventBridge,
    eventSourceMappings,
    invocations,
    stop: async () => {
      await stop();
      scheduler?.close();
    },
  };
}

type OuterEndpoints = Awaited<ReturnType<typeof findOuterEndpoints>>;

async function findOuterEndpoints() {
  const [scheduler, secretsManager, eventBridge] = await Promise.all([
    externalEndpoint("AWS_ENDPOINT_URL_SCHEDULER"),
    externalEndpoint("AWS_ENDPOINT_URL_SECRETS_MANAGER"),
    externalEndpoint("AWS_ENDPOINT_URL_EVENTBRIDGE"),
  ]);
  return { scheduler, secretsManager, eventBridge };
}

function createServices(
  folder: DataFolder | undefined,
  { clock, applied, ...location }: AwsLocation & { readonly clock: Clock; readonly applied?: AppliedEvents },
  outer: OuterEndpoints,
) {
  const { now } = clock;
  const eventSourcesFile = jsonFile<MappingStates>(folder?.eventSourcesFile, {});
  const secretsFile = jsonFile<SecretsFile>(folder?.secretsFile, {});
  const isOwn = (name: keyof OuterEndpoints) => outer[name] === undefined;
  return {
    eventSourceMappings: createEventSourceMappings({ file: eventSourcesFile, now }),
    invocations: createInvocations(),
    scheduler: isOwn("scheduler")
      ? createSchedulerService({ ...location, file: folder?.schedulesFile, clock })
      : undefined,
    eventBridge: isOwn("eventBridge")
      ? createEventBridgeService({ ...location, now, ...(applied && { applied }) })
      : undefined,
    secretsManager: isOwn("secretsManager")
      ? secretsManagerOperations({ ...location, file: secretsFile, now })
      : {},
  };
}
