import { defaultProvider } from "@aws-sdk/credential-provider-node";

export type Credentials = {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
};

/** Makes a function that answers the SDK's usual credentials. It looks them up at the first call, and again before they expire. */
export function awsCredentials(): () => Promise<Credentials> {
  return defaultProvider();
}
