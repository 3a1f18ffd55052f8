import { EventBridgeClient, PutEventsCommand } from "@aws-sdk/client-eventbridge";
import {
  GetScheduleCommand,
  type GetScheduleCommandOutput,
  ResourceNotFoundException,
  SchedulerClient,
} from "@aws-sdk/client-scheduler";
import { GetSecretValueCommand, SecretsManagerClient } from "@aws-sdk/client-secrets-manager";
import { inject } from "vitest";

/** For clients of the target's own Scheduler, Secrets Manager and EventBridge. */
function settings() {
  const { services } = inject("target");
  if (services === undefined) return {};
  // The embedded ones take any signature.
  const credentials = { accessKeyId: "any", secretAccessKey: "any" };
  return { endpoint: services, region: "us-east-1", credentials };
}

/** What a receiver of `callbacks` has to know. */
export async function callbackSecret(): Promise<string> {
  const client = new SecretsManagerClient(settings());
  try {
    const request = new GetSecretValueCommand({ SecretId: inject("target").secret });
    const { SecretString = "" } = await client.send(request);
    return SecretString;
  } finally {
    client.destroy();
  }
}

/** The one-time schedule beside a far job, if it has one. */
export async function promotionOf(id: string): Promise<GetScheduleCommandOutput | undefined> {
  const client = new SchedulerClient(settings());
  try {
    return await client.send(new GetScheduleCommand({ GroupName: inject("target").promotions, Name: id }));
  } catch (error) {
    if (error instanceof ResourceNotFoundException) return undefined;
    throw error;
  } finally {
    client.destroy();
  }
}

/** Puts an event on the default bus, so many times at once. Throws unless each is taken. */
export async function putEvent(detailType: string, detail: object, times = 1): Promise<void> {
  const client = new EventBridgeClient(settings());
  try {
    const event = { Source: "minutehand.e2e", DetailType: detailType, Detail: JSON.stringify(detail) };
    const Entries = Array.from({ length: times }, () => event);
    const { FailedEntryCount, ...answer } = await client.send(new PutEventsCommand({ Entries }));
    if (FailedEntryCount !== 0) throw new Error(`PutEvents answered ${JSON.stringify(answer.Entries)}`);
  } finally {
    client.destroy();
  }
}
