import { EventBridgeClient, PutEventsCommand } from "@aws-sdk/client-eventbridge";
import {
  GetScheduleCommand,
  type GetScheduleCommandOutput,
  ResourceNotFoundException,
  SchedulerClient,
} from "@aws-sdk/client-scheduler";
import { GetSecretValueCommand, SecretsManagerClient } from "@aws-sdk/client-secrets-manager";
import { inject } from "vitest";

function settings() {
  const { services } = inject("target");
  if (services === undefined) return {};
  // The embedded services accept any signature.
  const credentials = { accessKeyId: "any", secretAccessKey: "any" };
  return { endpoint: services, region: "us-east-1", credentials };
}

/** The secret of the topic `callbacks`, with which a receiver verifies the calls. */
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

/** Puts the same event on the default bus `times` times, in one call. Throws unless EventBridge accepts each of them. */
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
