import {
  GetSecretValueCommand,
  ResourceNotFoundException,
  type SecretsManagerClient,
} from "@aws-sdk/client-secrets-manager";
import { messageOf } from "../core/errors.ts";
import { unavailable } from "./unknown.ts";

/** How long the values of a secret are used before they are read again, in ms. */
const KNOWN_FOR = 5 * 60_000;
/** How long after a failed read the values are read again, in ms. */
const AGAIN_AFTER = 30_000;

/** Answers the current value of a secret, and then the value before it if there is one. */
export type Secrets = () => Promise<readonly string[]>;

/**
 * Reads a secret of Secrets Manager with its previous value, so that both are valid during a rotation. The values are read again
 * after five minutes. If that fails, the last known values are answered and `onTrouble` is told. Throws `unavailable` if no values
 * are known.
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
      // A secret that was never rotated has no previous value.
      if (error instanceof ResourceNotFoundException) return undefined;
      throw error;
    }),
  ]);
  return values.filter((value) => value !== undefined);
}
