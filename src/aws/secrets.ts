import {
  GetSecretValueCommand,
  ResourceNotFoundException,
  type SecretsManagerClient,
} from "@aws-sdk/client-secrets-manager";
import { messageOf } from "../core/errors.ts";
import { unavailable } from "./unknown.ts";

/** ms. */
const KNOWN_FOR = 5 * 60_000;
/** How long after a failed read a secret is read again, ms. */
const AGAIN_AFTER = 30_000;

/** The current value, and then the one before, if any. */
export type Secrets = () => Promise<readonly string[]>;

/**
 * Both values of a secret are valid during a rotation. If they cannot be read again, the last known ones are answered and `onTrouble` is told.
 * Throws `unavailable` if none are known.
 */
export function secretVersions(settings: {
  client: SecretsManagerClient;
  arn: string;
  clock: () => number;
  onTrouble: (error: string) => void;
}): Secrets {
  const { client, arn, clock, onTrouble } = settings;
  let known: readonly string[] | undefined;
  let until = Number.NEGATIVE_INFINITY;

  return async () => {
    if (known !== undefined && clock() < until) return known;
    try {
      known = await readValues(client, arn);
      until = clock() + KNOWN_FOR;
    } catch (error) {
      if (known === undefined) throw unavailable(`the webhook's secret ${arn} cannot be read`, error);
      onTrouble(messageOf(error));
      until = clock() + AGAIN_AFTER;
    }
    return known;
  };
}

async function readValues(client: SecretsManagerClient, arn: string): Promise<string[]> {
  const valueAt = async (VersionStage: "AWSCURRENT" | "AWSPREVIOUS") => {
    const { SecretString } = await client.send(new GetSecretValueCommand({ SecretId: arn, VersionStage }));
    return SecretString;
  };
  const values = await Promise.all([
    valueAt("AWSCURRENT"),
    valueAt("AWSPREVIOUS").catch((error) => {
      if (error instanceof ResourceNotFoundException) return undefined;
      throw error;
    }),
  ]);
  return values.filter((value) => value !== undefined);
}
