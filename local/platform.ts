export type Endpoints = {
  readonly dynamodb: string;
  readonly sqs: string;
  readonly scheduler: string;
  readonly secretsManager: string;
  readonly eventBridge: string;
  readonly lambda: string;
};

/** Where the stack stands and with what the clients sign. */
export type Platform = {
  readonly account: string;
  readonly region: string;
  /** For clients of the runner's own. */
  readonly credentials: { accessKeyId: string; secretAccessKey: string; sessionToken?: string };
};

/**
 * The embedded services take any signature. A service named by the environment is signed for with the
 * environment's own account, region and credentials, where it has them.
 */
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

/**
 * What the functions find in their environment beside the template's variables: of `env` whatever says where a service
 * runs that is not played here.
 */
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
    // Receivers that are tried out run on this machine too.
    MINUTEHAND_ALLOW_LOOPBACK: "true",
    // Job events are logged at this level.
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
