import { requirePackages } from "../general/optional-packages.ts";
import { settings } from "./clients.ts";
import { unavailable } from "./unknown.ts";

/**
 * An event, with the names of https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutEventsRequestEntry.html. `Detail`: JSON
 * text. `EventBusName`: absent for the default bus.
 */
export type EventEntry = {
  readonly Source: string;
  readonly DetailType: string;
  readonly Detail: string;
  readonly EventBusName?: string;
};

type EventResult = {
  readonly EventId?: string | undefined;
  readonly ErrorCode?: string | undefined;
  readonly ErrorMessage?: string | undefined;
};
export type PutEventsAnswer = { readonly Entries?: readonly EventResult[] | undefined };

/** Throws `unavailable`. `region`: absent for the SDK's own. */
export async function putEvent(entry: EventEntry, region?: string): Promise<PutEventsAnswer> {
  try {
    requirePackages("event put", "@aws-sdk/client-eventbridge");
    const { EventBridgeClient, PutEventsCommand } = await import("@aws-sdk/client-eventbridge");
    const client = new EventBridgeClient({ ...settings(), ...(region === undefined ? {} : { region }) });
    return await client.send(new PutEventsCommand({ Entries: [entry] }));
  } catch (thrown) {
    throw unavailable("EventBridge did not take the event", thrown);
  }
}
