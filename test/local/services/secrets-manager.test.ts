import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  CreateSecretCommand,
  GetSecretValueCommand,
  PutSecretValueCommand,
  ResourceExistsException,
  ResourceNotFoundException,
  SecretsManagerClient,
} from "@aws-sdk/client-secrets-manager";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type AwsEndpoint, startAwsEndpoint } from "../../../local/services/aws-endpoint.ts";
import { jsonFile } from "../../../local/services/json-file.ts";
import { type SecretsFile, secretsManagerOperations } from "../../../local/services/secrets-manager.ts";

const NOON = Date.UTC(2026, 2, 12, 12);
const ARN = "arn:aws:secretsmanager:us-east-1:000000000000:secret:demo";

let folder: string;
let path: string;
let endpoint: AwsEndpoint;
let client: SecretsManagerClient;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "minutehand-"));
  path = join(folder, "secrets.json");
  await start();
});

afterEach(async () => {
  await stop();
  rmSync(folder, { recursive: true, force: true });
});

async function start(): Promise<void> {
  const file = jsonFile<SecretsFile>(path, {});
  const place = { region: "us-east-1", account: "000000000000" };
  endpoint = await startAwsEndpoint(secretsManagerOperations({ ...place, file, now: () => NOON }));
  client = new SecretsManagerClient({
    endpoint: endpoint.url,
    region: "us-east-1",
    credentials: { accessKeyId: "a", secretAccessKey: "b" },
  });
}

async function stop(): Promise<void> {
  client.destroy();
  await endpoint.stop();
}

const create = (value: string) => client.send(new CreateSecretCommand({ Name: "demo", SecretString: value }));
const put = (value: string, more: { ClientRequestToken?: string; VersionStages?: string[] } = {}) =>
  client.send(new PutSecretValueCommand({ SecretId: ARN, SecretString: value, ...more }));
const valueAt = async (VersionStage?: string) => {
  const { SecretString } = await client.send(new GetSecretValueCommand({ SecretId: ARN, VersionStage }));
  return SecretString;
};

test("a secret is found by its name and by its ARN", async () => {
  await create("first");
  const byName = await client.send(new GetSecretValueCommand({ SecretId: "demo" }));
  expect(byName).toMatchObject({
    ARN,
    Name: "demo",
    SecretString: "first",
    VersionStages: ["AWSCURRENT"],
    CreatedDate: new Date(NOON),
  });
  const { VersionId } = byName;
  const byVersion = await client.send(new GetSecretValueCommand({ SecretId: ARN, VersionId }));
  expect(byVersion.SecretString).toBe("first");
});

test("a new value gets AWSCURRENT, the value before gets AWSPREVIOUS, and older values are deleted", async () => {
  await create("first");
  await expect(valueAt("AWSPREVIOUS")).rejects.toThrow(ResourceNotFoundException);
  await put("second");
  expect([await valueAt(), await valueAt("AWSCURRENT"), await valueAt("AWSPREVIOUS")]).toEqual([
    "second",
    "second",
    "first",
  ]);
  await put("third");
  expect([await valueAt("AWSCURRENT"), await valueAt("AWSPREVIOUS")]).toEqual(["third", "second"]);
  expect(readFileSync(path, "utf8")).not.toContain("first");
});

test("a value of another stage does not change the current value", async () => {
  await create("first");
  await put("pending", { VersionStages: ["AWSPENDING"] });
  expect([await valueAt(), await valueAt("AWSPENDING")]).toEqual(["first", "pending"]);
});

test("putting a value is idempotent by its token; the same token with another value is rejected", async () => {
  await create("first");
  const ClientRequestToken = "0a1b2c3d-0000-4000-8000-000000000000";
  await put("second", { ClientRequestToken });
  await put("second", { ClientRequestToken });
  expect(await valueAt("AWSPREVIOUS")).toBe("first");
  await expect(put("third", { ClientRequestToken })).rejects.toThrow(ResourceExistsException);
});

test("a secret can be created only once, and an unknown secret is not found", async () => {
  await expect(valueAt()).rejects.toThrow(ResourceNotFoundException);
  await expect(put("first")).rejects.toThrow(ResourceNotFoundException);
  await create("first");
  await expect(create("second")).rejects.toThrow(ResourceExistsException);
  expect(await valueAt()).toBe("first");
});

test("a restart keeps the values, in a file that only its owner can read", async () => {
  await create("first");
  await stop();
  await start();
  expect(await valueAt()).toBe("first");
  expect(statSync(path).mode & 0o777).toBe(0o600);
});
