import type { DataFolder } from "../data-folder.ts";
import { externalEndpoint } from "../external-endpoint.ts";
import type { Endpoints } from "../platform.ts";
import { startAwsEndpoint } from "./aws-endpoint.ts";
import { systemClock } from "./clock.ts";
import { createEventBridgeService, type EventBridgeService } from "./event-bridge.ts";
import {
  createEventSourceMappings,
  type EventSourceMappings,
  type MappingStates,
} from "./event-source-mappings.ts";
import { jsonFile } from "./json-file.ts";
import { createSchedulerService, type Place, type SchedulerService } from "./scheduler.ts";
import { type SecretsFile, secretsManagerOperations } from "./secrets-manager.ts";

export type OwnServices = {
  readonly url: string;
  readonly endpoints: Pick<Endpoints, "scheduler" | "secretsManager" | "eventBridge" | "lambda">;
  /** Absent where the environment names another one, which fires its schedules itself, if it does. */
  readonly scheduler: SchedulerService | undefined;
  /** Absent likewise: then nobody here brings events to queues. */
  readonly eventBridge: EventBridgeService | undefined;
  readonly eventSourceMappings: EventSourceMappings;
  readonly stop: () => Promise<void>;
};

/**
 * Serves what no emulator plays, all of it on one port of loopback. Of Lambda's functions and mappings there are only
 * the runner's own, so that service never runs elsewhere. Without a folder everything is kept in memory.
 */
export async function startOwnServices(folder: DataFolder | undefined, place: Place): Promise<OwnServices> {
  const { now } = systemClock;
  const [outerScheduler, outerSecrets, outerEventBridge] = await Promise.all([
    externalEndpoint("AWS_ENDPOINT_URL_SCHEDULER"),
    externalEndpoint("AWS_ENDPOINT_URL_SECRETS_MANAGER"),
    externalEndpoint("AWS_ENDPOINT_URL_EVENTBRIDGE"),
  ]);
  const eventSourceMappings = createEventSourceMappings({
    file: jsonFile<MappingStates>(folder?.eventSourcesFile, {}),
    now,
  });
  const secrets = { ...place, file: jsonFile<SecretsFile>(folder?.secretsFile, {}), now };
  const scheduler =
    outerScheduler === undefined
      ? createSchedulerService({ ...place, file: folder?.schedulesFile, clock: systemClock })
      : undefined;
  const eventBridge =
    outerEventBridge === undefined ? createEventBridgeService({ ...place, now }) : undefined;
  const { url, stop } = await startAwsEndpoint({
    ...eventSourceMappings.operations,
    ...scheduler?.operations,
    ...eventBridge?.operations,
    ...(outerSecrets === undefined ? secretsManagerOperations(secrets) : {}),
  });
  return {
    url,
    endpoints: {
      scheduler: outerScheduler ?? url,
      secretsManager: outerSecrets ?? url,
      eventBridge: outerEventBridge ?? url,
      lambda: url,
    },
    scheduler,
    eventBridge,
    eventSourceMappings,
    stop: async () => {
      await stop();
      scheduler?.close();
    },
  };
}
