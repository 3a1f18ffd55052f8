export type Endpoints = {
  readonly dynamodb: string;
  readonly sqs: string;
  readonly scheduler: string;
  readonly secretsManager: string;
  readonly eventBridge: string;
  readonly lambda: string;
};

export type Platform = {
  readonly account: string;
  readonly region: string;
  readonly credentials: { accessKeyId: string; secretAccessKey: string; sessionToken?: string };
};

/** The environment, if it names a service that runs elsewhere. Else, and for what is missing, fixed values: any signature is accepted. */
export function readPlatform(env: NodeJS.ProcessEnv): Platform {
  const own = Object.keys(endpointsIn(env)).length > 0 ? env : {};
  return {
    account: own.AWS_ACCOUNT_ID ?? "000000000000",
    region: own.AWS_REGION ?? own.AWS_DEFAULT_REGION ?? "us-east-1",
    credentials: {
      accessKeyId: own.AWS_ACCESS_KEY_ID ?? "local",
      secretAccessKey: own.AWS_SECRET_ACCESS_KEY ?? "local",
      ...(own.AWS_SESSION_TOKEN ? { sessionToken: own.AWS_SESSION_TOKEN } : {}),
    },
  };
}

/** Includes each `AWS_ENDPOINT_URL*` of `env`, so functions also reach services that are not played here. */
export function platformVariables(
  { region, credentials }: Platform,
  endpoints: Endpoints,
  env: NodeJS.ProcessEnv,
): Record<string, string> {
  return {
    ...endpointsIn(env),
    AWS_REGION: region,
    AWS_DEFAULT_REGION: region,
    AWS_ACCESS_KEY_ID: credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
    ...(credentials.sessionToken ? { AWS_SESSION_TOKEN: credentials.sessionToken } : {}),
    AWS_ENDPOINT_URL_DYNAMODB: endpoints.dynamodb,
    AWS_ENDPOINT_URL_SQS: endpoints.sqs,
    AWS_ENDPOINT_URL_SCHEDULER: endpoints.scheduler,
    AWS_ENDPOINT_URL_SECRETS_MANAGER: endpoints.secretsManager,
    AWS_ENDPOINT_URL_EVENTBRIDGE: endpoints.eventBridge,
    AWS_ENDPOINT_URL_LAMBDA: endpoints.lambda,
    // The embedded DynamoDB keeps the machine's clock.
    ...(env.AWS_ENDPOINT_URL_DYNAMODB ? {} : { MINUTEHAND_MOVING_CLOCK: "true" }),
    // Developers run webhook receivers on their own machine.
    MINUTEHAND_ALLOW_LOOPBACK: "true",
    // Job events are debug records, and the log shows them.
    POWERTOOLS_LOG_LEVEL: "DEBUG",
  };
}

function endpointsIn(env: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) =>
      name.startsWith("AWS_ENDPOINT_URL") && value ? [[name, value]] : [],
    ),
  );
}
