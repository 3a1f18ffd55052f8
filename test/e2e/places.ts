/** `embedded`: `npm run local`. `ministack`, `localstack`: deployments by the CDK to an emulator. `aws`: a stack in an account. */
export const PLACES = ["embedded", "ministack", "localstack", "aws"] as const;
export type Place = (typeof PLACES)[number];

/** What a place cannot do, or does otherwise than AWS: all of it. What depends on it calls `cannot` or `here`. */
export const EXCEPTIONS = [
  { place: "embedded", exception: "authorization", reason: "nobody checks signatures" },
  { place: "embedded", exception: "log-groups", reason: "functions log to the output of npm run local" },

  { place: "ministack", exception: "local-commands", reason: "the README's commands start another stack" },
  { place: "ministack", exception: "kills", reason: "MiniStack itself runs the processes" },
  {
    place: "ministack",
    exception: "signatures",
    reason: "checks that the access key of a caller exists, but does not check the signature",
  },
  {
    place: "ministack",
    exception: "api-host",
    reason: "DNS does not know the host of its ApiUrl, so the suite calls the API by its path",
  },
  {
    place: "ministack",
    exception: "bursts",
    reason:
      "each of several calls at the same time starts a process of the function, all on the same cores, so each test " +
      "file makes one call at a time",
  },
  {
    place: "ministack",
    exception: "batch-permissions",
    reason:
      "requires permissions for batch calls, such as sqs:SendMessageBatch, that do not exist on AWS, and checks the " +
      "permission for statement batches without naming a table",
  },
  {
    place: "ministack",
    exception: "schedule-groups",
    reason: "checks the permission for a schedule as if each schedule were in the group default",
  },
  {
    place: "ministack",
    exception: "secret-arns",
    reason:
      "a Ref to a secret in a template is its name and not its ARN, but a permission to read the secret needs the ARN",
  },
  {
    place: "ministack",
    exception: "secret-characters",
    reason: "generates secrets with punctuation, whatever ExcludePunctuation says",
  },
  {
    place: "ministack",
    exception: "commonjs-bundles",
    reason: "does not look for index.cjs when a function's handler is index.handler, as Lambda does",
  },
  {
    place: "ministack",
    exception: "occurrences",
    reason:
      "does not say for which time a schedule fires: it passes on <aws.scheduler.scheduled-time> without replacing it",
  },
  {
    place: "ministack",
    exception: "usage",
    reason:
      "CloudWatch has no metrics of units, messages and invocations, so only lateness is measured, and no cost",
  },

  { place: "localstack", exception: "local-commands", reason: "the README's commands start another stack" },
  { place: "localstack", exception: "kills", reason: "LocalStack itself runs the processes" },
  {
    place: "localstack",
    exception: "http-api",
    reason:
      "API Gateway v2 needs a licence, so the suite runs the API's app in its own process, on the deployed resources",
  },
  {
    place: "localstack",
    exception: "authorization",
    reason: "there is no HTTP API that could check signatures",
  },
  {
    place: "localstack",
    exception: "log-groups",
    reason: "functions log to /aws/lambda/<name> whatever group they are given",
  },

  { place: "aws", exception: "local-commands", reason: "the README's commands start another stack" },
  { place: "aws", exception: "kills", reason: "nobody can kill Lambda's processes" },
  { place: "aws", exception: "receivers", reason: "no function there can call this machine" },
] as const satisfies readonly { place: Place; exception: string; reason: string }[];

export type Exception = (typeof EXCEPTIONS)[number]["exception"];

/** The reason of an exception at a place. `undefined`: the place has no such exception. */
export function cannot(place: Place, exception: Exception): string | undefined {
  return EXCEPTIONS.find((one) => one.place === place && one.exception === exception)?.reason;
}
