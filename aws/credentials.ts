import { defaultProvider } from "@aws-sdk/credential-provider-node";

export type Credentials = {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
};

/** The credentials that the SDK would use, looked for when first asked and again before they expire. */
export function awsCredentials(): () => Promise<Credentials> {
  return defaultProvider();
}
