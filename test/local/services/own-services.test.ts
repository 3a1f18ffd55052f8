import { EventBridgeClient, PutEventsCommand } from "@aws-sdk/client-eventbridge";
import { ListSchedulesCommand, SchedulerClient } from "@aws-sdk/client-scheduler";
import {
  CreateSecretCommand,
  GetSecretValueCommand,
  SecretsManagerClient,
} from "@aws-sdk/client-secrets-manager";
import { afterEach, expect, test, vi } from "vitest";
import { type OwnServices, startOwnServices } from "../../../local/services/own-services.ts";
import { startSchedulerEndpoint } from "../../../local/services/scheduler-endpoint.ts";

const PLACE = { region: "us-east-1", account: "000000000000" };
const CREDENTIALS = { accessKeyId: "a", secretAccessKey: "b" };

const started: { readonly stop: () => Promise<void> }[] = [];

afterEach(async () => {
  vi.unstubAllEnvs();
  for (const { stop } of started.splice(0)) await stop();
});

function begun<T extends { readonly stop: () => Promise<void> }>(service: T): T {
  started.push(service);
  return service;
}

const CALLS = [
  ["POST", "/", "secretsmanager.GetSecretValue"],
  ["POST", "/", "AWSEvents.PutEvents"],
  ["GET", "/schedules", undefined],
  ["POST", "/2015-03-31/functions/x/invocations", undefined],
  ["GET", "/2015-03-31/event-source-mappings/x", undefined],
] as const;

const listSchedules = ({ url }: Pick<OwnServices, "url">) =>
  new SchedulerClient({ endpoint: url, region: PLACE.region, credentials: CREDENTIALS }).send(
    new ListSchedulesCommand(),
  );

test("all services answer on one port", async () => {
  const services = begun(await startOwnServices(undefined, PLACE));
  const { url, endpoints } = services;
  expect(endpoints).toEqual({ scheduler: url, secretsManager: url, eventBridge: url, lambda: url });
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/[0-9a-f]{32}$/);
  expect((await listSchedules(services)).Schedules).toEqual([]);
});

test("each run has another key, without which nobody reads a secret, puts an event or invokes a function", async () => {
  const services = begun(await startOwnServices(undefined, PLACE));
  const { url } = services;
  const { origin, pathname } = new URL(url);
  expect(new URL(begun(await startOwnServices(undefined, PLACE)).url).pathname).not.toBe(pathname);
  const client = new SecretsManagerClient({ endpoint: url, region: PLACE.region, credentials: CREDENTIALS });
  await client.send(new CreateSecretCommand({ Name: "demo", SecretString: "the value" }));
  const read = new GetSecretValueCommand({ SecretId: "demo" });
  expect((await client.send(read)).SecretString).toBe("the value");

  const wrong = ["", "/", pathname.slice(0, -1), `${pathname}0`, pathname.toUpperCase(), `/x${pathname}`];
  for (const path of wrong) {
    for (const [method, rest, target] of CALLS) {
      const answered = await fetch(`${origin}${path}${rest}`, {
        method,
        ...(target === undefined ? {} : { headers: { "x-amz-target": target }, body: '{"SecretId":"demo"}' }),
      });
      expect([path, rest, target, answered.status]).toEqual([path, rest, target, 403]);
      expect(await answered.text()).not.toMatch(new RegExp(`the value|${pathname.slice(1)}`));
    }
  }
});

test("a Scheduler that runs elsewhere is used instead of the own one", async () => {
  const other = begun(await startSchedulerEndpoint());
  vi.stubEnv("AWS_ENDPOINT_URL_SCHEDULER", other.url);
  const services = begun(await startOwnServices(undefined, PLACE));
  expect(services.scheduler).toBeUndefined();
  expect(services.endpoints).toMatchObject({ scheduler: other.url, secretsManager: services.url });
  await expect(listSchedules(services)).rejects.toThrow("does not play GET /schedules");
});

test("a Secrets Manager that runs elsewhere is used instead of the own one", async () => {
  const other = begun(await startOwnServices(undefined, PLACE));
  vi.stubEnv("AWS_ENDPOINT_URL_SECRETS_MANAGER", other.url);
  const { url, endpoints } = begun(await startOwnServices(undefined, PLACE));
  expect(endpoints).toMatchObject({ scheduler: url, secretsManager: other.url });
  const own = new SecretsManagerClient({ endpoint: url, region: PLACE.region, credentials: CREDENTIALS });
  const creation = own.send(new CreateSecretCommand({ Name: "demo", SecretString: "first" }));
  await expect(creation).rejects.toThrow("does not play secretsmanager.CreateSecret");
});

test("an EventBridge that runs elsewhere is used instead of the own one", async () => {
  const other = begun(await startOwnServices(undefined, PLACE));
  vi.stubEnv("AWS_ENDPOINT_URL_EVENTBRIDGE", other.url);
  const { url, endpoints, eventBridge } = begun(await startOwnServices(undefined, PLACE));
  expect(endpoints).toMatchObject({ secretsManager: url, eventBridge: other.url });
  expect(eventBridge).toBeUndefined();
  const own = new EventBridgeClient({ endpoint: url, region: PLACE.region, credentials: CREDENTIALS });
  const putting = own.send(new PutEventsCommand({ Entries: [] }));
  await expect(putting).rejects.toThrow("does not play AWSEvents.PutEvents");
});

test("the error names the variable of a service that does not answer", async () => {
  const { url, stop } = await startSchedulerEndpoint();
  await stop();
  vi.stubEnv("AWS_ENDPOINT_URL_SCHEDULER", url);
  await expect(startOwnServices(undefined, PLACE)).rejects.toThrow(
    `AWS_ENDPOINT_URL_SCHEDULER must be the URL of a service that answers, got "${url}"`,
  );
});
