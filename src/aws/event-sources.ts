import { type LambdaClient, UpdateEventSourceMappingCommand } from "@aws-sdk/client-lambda";
import type { EventSources } from "../protocol/ports.ts";
import { unavailable } from "./unknown.ts";

/** Ends the provisioned mode of a mapping. An empty value removes it, as it removes a `ScalingConfig`. */
export async function removePollers(client: LambdaClient, mapping: string): Promise<void> {
  const command = new UpdateEventSourceMappingCommand({ UUID: mapping, ProvisionedPollerConfig: {} });
  try {
    await client.send(command);
  } catch (thrown) {
    throw unavailable(`Lambda did not turn off the pollers of the event source mapping ${mapping}`, thrown);
  }
}

/** `mappings`: the ids of the event source mappings, by topic. */
export function lambdaEventSources(settings: {
  client: LambdaClient;
  mappings: Readonly<Record<string, string>>;
}): EventSources {
  const { client, mappings } = settings;
  return {
    async enable(topic, enabled) {
      if (!Object.hasOwn(mappings, topic)) return;
      // Lambda keeps what a request leaves out, such as the number of pollers.
      const command = new UpdateEventSourceMappingCommand({ UUID: mappings[topic], Enabled: enabled });
      try {
        await client.send(command);
      } catch (thrown) {
        throw unavailable(`Lambda did not change the event source mapping of ${topic}`, thrown);
      }
    },
  };
}
