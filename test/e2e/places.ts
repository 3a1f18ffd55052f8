/**
 * Where the suite runs: `embedded` is `npm run local`; `ministack` and `localstack` are deployments by the CDK
 * to an emulator; `aws` is a stack in an account.
 */
export const PLACES = ["embedded", "ministack", "localstack", "aws"] as const;
export type Place = (typeof PLACES)[number];

/**
 * What a place cannot do or does otherwise than AWS. There is no other list: whoever makes an exception of a
 * place asks `cannot` or `here`.
 */
export const EXCEPTIONS = [
  { place: "embedded", exception: "authorization", reason: "nobody checks signatures" },
  { place: "embedded", exception: "log-groups", reason: "functions log to the output of npm run local" },

  { place: "ministack", exception: "local-commands", reason: "the README's commands start another stack" },
  { place: "ministack", exception: "kills", reason: "its processes are MiniStack's own" },
  {
    place: "ministack",
    exception: "signatures",
    reason: "asks an API's caller for a key that exists, and does not work its signature out",
  },
  {
    place: "ministack",
    exception: "api-host",
    reason: "no resolver knows the host of its ApiUrl: the API is called by path",
  },
  {
    place: "ministack",
    exception: "bursts",
    reason:
      "calls at once each start a process of the function on the same cores: each test file makes one at a time",
  },
  {
    place: "ministack",
    exception: "batch-permissions",
    reason:
      "asks for permissions by the names of batch calls, such as sqs:SendMessageBatch, which AWS has not; those for " +
      "statement batches it asks for no table in particular",
  },
  {
    place: "ministack",
    exception: "schedule-groups",
    reason: "judges every call of a schedule as if it were in the group default",
  },
  {
    place: "ministack",
    exception: "secret-arns",
    reason: "a secret's Ref in a template is its name, by which no role can be allowed to read it",
  },
  {
    place: "ministack",
    exception: "secret-characters",
    reason: "generates secrets with punctuation, whatever ExcludePunctuation says",
  },
  {
    place: "ministack",
    exception: "occurrences",
    reason: "fires schedules without telling for when: <aws.scheduler.scheduled-time> is passed on as it is",
  },
  {
    place: "ministack",
    exception: "usage",
    reason:
      "counts no units, messages and invocations in CloudWatch: only lateness is measured, and no dollars",
  },

  { place: "localstack", exception: "local-commands", reason: "the README's commands start another stack" },
  { place: "localstack", exception: "kills", reason: "its processes are LocalStack's own" },
  {
    place: "localstack",
    exception: "http-api",
    reason:
      "no API Gateway v2 without a licence: the suite runs the API's app itself, over the deployed rest",
  },
  { place: "localstack", exception: "authorization", reason: "no HTTP API that could ask for signatures" },
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

/** Why a place cannot do this; `undefined`: it can. */
export function cannot(place: Place, exception: Exception): string | undefined {
  return EXCEPTIONS.find((one) => one.place === place && one.exception === exception)?.reason;
}
