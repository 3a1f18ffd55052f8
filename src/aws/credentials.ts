import { defaultProvider } from "@aws-sdk/credential-provider-node";

export type Credentials = {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
};

/** The SDK's usual credentials, looked up at the first call, and again before they expire. */
export function awsCredentials(): () => Promise<Credentials> {
  return defaultProvider();
}
