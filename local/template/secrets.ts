import { randomInt } from "node:crypto";
import {
  CreateSecretCommand,
  ResourceExistsException,
  type SecretsManagerClient,
} from "@aws-sdk/client-secrets-manager";
import { generateSecretString } from "../services/random-password.ts";
import { createEach, type Refusal } from "./create-each.ts";
import type { SecretSpec } from "./resources.ts";
import type { JsonObject } from "./template.ts";

/** Existing secrets keep their values. Answers the secrets that Secrets Manager rejects. */
export async function createSecrets(
  secrets: readonly SecretSpec[],
  client: SecretsManagerClient,
): Promise<Refusal[]> {
  return createEach("secret", secrets, (secret) => createSecret(secret, client));
}

async function createSecret({ name, properties }: SecretSpec, client: SecretsManagerClient): Promise<void> {
  const { SecretString, GenerateSecretString = {} } = properties;
  const value =
    typeof SecretString === "string"
      ? SecretString
      : generateSecretString(GenerateSecretString as JsonObject, (below) => randomInt(below));
  try {
    await client.send(new CreateSecretCommand({ Name: name, SecretString: value }));
  } catch (error) {
    if (!(error instanceof ResourceExistsException)) throw error;
  }
}
