import type { InvokeCommandInput, UpdateEventSourceMappingCommandInput } from "@aws-sdk/client-lambda";
import { problem, type Service } from "./service.ts";

/** Lambda's event source mappings: one for each topic, with the topic's name as its UUID. */
export type EventSources = Service & {
  polls(topic: string): boolean;
};

/** `lag`: ms that the next change takes. `onEnabled`: gets the time from which Lambda polls again. `onInvoke`: gets event and chain. */
export function simulatedEventSources(settings: {
  clock: () => number;
  topics: readonly string[];
  lag: () => number;
  onEnabled: (topic: string, time: number) => void;
  onInvoke: (event: string, chain: number) => void;
}): EventSources {
  const { clock, topics, lag, onEnabled, onInvoke } = settings;
  const mappings = new Map(topics.map((topic) => [topic, { before: true, after: true, changesAt: 0 }]));
  const mapping = (topic: string) => {
    const found = mappings.get(topic);
    if (!found) throw problem("ResourceNotFoundException", `there is no mapping ${topic}`, 404);
    return found;
  };
  return {
    perform(operation, input, { chain }) {
      if (operation === "Invoke") {
        onInvoke(String((input as InvokeCommandInput).Payload), chain ?? 0);
        return { StatusCode: 202 };
      }
      if (operation !== "UpdateEventSourceMapping") throw new Error(`no such operation here: ${operation}`);
      const { UUID = "", Enabled = true } = input as UpdateEventSourceMappingCommandInput;
      const { after, changesAt } = mapping(UUID);
      // The mapping is still `Enabling` or `Disabling` ("UpdateEventSourceMapping", API reference).
      if (clock() < changesAt) throw problem("ResourceInUseException", `${UUID} is being changed`);
      const time = clock() + (after === Enabled ? 0 : lag());
      mappings.set(UUID, { before: after, after: Enabled, changesAt: time });
      if (Enabled) onEnabled(UUID, time);
      return { UUID, State: Enabled ? "Enabling" : "Disabling" };
    },
    polls(topic) {
      const { before, after, changesAt } = mapping(topic);
      return clock() < changesAt ? before : after;
    },
  };
}
