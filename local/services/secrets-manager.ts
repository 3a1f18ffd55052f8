import { randomUUID } from "node:crypto";
import * as z from "zod/mini";
import type { Operations } from "./aws-endpoint.ts";
import { AwsError } from "./aws-error.ts";
import type { JsonFile } from "./json-file.ts";
import type { AwsLocation } from "./scheduler.ts";

const CURRENT = "AWSCURRENT";
const PREVIOUS = "AWSPREVIOUS";

type Version = {
  readonly id: string;
  readonly value: string;
  /** A version without a stage is deleted. */
  readonly stages: readonly string[];
  /** ms since the epoch. */
  readonly createdAt: number;
};

export type SecretsFile = Readonly<Record<string, readonly Version[]>>;

type Options = AwsLocation & { readonly file: JsonFile<SecretsFile>; readonly now: () => number };

const createRequest = z.object({
  Name: z.string(),
  SecretString: z.string(),
  ClientRequestToken: z.optional(z.string()),
});
const putRequest = z.object({
  SecretId: z.string(),
  SecretString: z.string(),
  ClientRequestToken: z.optional(z.string()),
  VersionStages: z._default(z.array(z.string()), [CURRENT]),
});
const getRequest = z.object({
  SecretId: z.string(),
  VersionId: z.optional(z.string()),
  VersionStage: z.optional(z.string()),
});

/** Only texts: https://docs.aws.amazon.com/secretsmanager/latest/apireference/Welcome.html. ARNs have no random ending here. */
export function secretsManagerOperations(options: Options): Operations {
  const answers = {
    CreateSecret: createSecret,
    PutSecretValue: putSecretValue,
    GetSecretValue: getSecretValue,
  };
  return Object.fromEntries(
    Object.entries(answers).map(([name, answer]) => [
      `secretsmanager.${name}`,
      { answer: ({ body }) => answer(options, body) },
    ]),
  );
}

function createSecret(options: Options, body: unknown): object {
  const { Name, SecretString: value, ClientRequestToken: id = randomUUID() } = validate(createRequest, body);
  if (options.file.read()[Name])
    throw new AwsError("ResourceExistsException", 400, `the secret ${Name} already exists`);
  return put(options, { name: Name, versions: [] }, { id, value, stages: [CURRENT] });
}

function putSecretValue(options: Options, body: unknown): object {
  const { SecretId, SecretString: value, ...more } = validate(putRequest, body);
  const { ClientRequestToken: id = randomUUID(), VersionStages: stages } = more;
  return put(options, find(options, SecretId), { id, value, stages });
}

function getSecretValue(options: Options, body: unknown): object {
  const { SecretId, VersionId, VersionStage } = validate(getRequest, body);
  const { name, versions } = find(options, SecretId);
  const stage = VersionStage ?? (VersionId === undefined ? CURRENT : undefined);
  const version = versions.find(
    ({ id, stages }) =>
      (stage === undefined || stages.includes(stage)) && (VersionId === undefined || id === VersionId),
  );
  if (!version) throw notFound(`secret value for staging label: ${stage}`);
  return {
    ARN: arnPrefix(options) + name,
    Name: name,
    VersionId: version.id,
    SecretString: version.value,
    VersionStages: version.stages,
    CreatedDate: version.createdAt / 1000,
  };
}

type Secret = { readonly name: string; readonly versions: readonly Version[] };

function find(options: Options, secretId: string): Secret {
  const prefix = arnPrefix(options);
  const name = secretId.startsWith(prefix) ? secretId.slice(prefix.length) : secretId;
  const versions = options.file.read()[name];
  if (!versions) throw notFound("secret");
  return { name, versions };
}

function put(options: Options, { name, versions: known }: Secret, asked: Omit<Version, "createdAt">): object {
  const { file, now } = options;
  const same = known.find(({ id }) => id === asked.id);
  if (same && same.value !== asked.value)
    throw new AwsError(
      "ResourceExistsException",
      400,
      "a version with that ClientRequestToken has another value",
    );
  const version = same ?? { ...asked, createdAt: now() };
  const versions = same ? known : [...withoutStages(known, asked.stages), version];
  file.write({ ...file.read(), [name]: versions });
  return {
    ARN: arnPrefix(options) + name,
    Name: name,
    VersionId: version.id,
    VersionStages: version.stages,
  };
}

function arnPrefix({ region, account }: Options): string {
  return `arn:aws:secretsmanager:${region}:${account}:secret:`;
}

/** Removes stages from versions: a stage belongs to one version at a time. The version that loses AWSCURRENT gets AWSPREVIOUS. */
function withoutStages(versions: readonly Version[], taken: readonly string[]): Version[] {
  const losesCurrent = ({ stages }: Version) => taken.includes(CURRENT) && stages.includes(CURRENT);
  const gone = new Set(versions.some(losesCurrent) ? [...taken, PREVIOUS] : taken);
  return versions
    .map((version) => {
      const stages = version.stages.filter((stage) => !gone.has(stage));
      return { ...version, stages: losesCurrent(version) ? [...stages, PREVIOUS] : stages };
    })
    .filter(({ stages }) => stages.length > 0);
}

function validate<S extends z.core.$ZodType>(schema: S, body: unknown): z.infer<S> {
  const { success, data, error } = z.safeParse(schema, body);
  if (success) return data;
  const [issue] = error.issues;
  throw new AwsError("InvalidParameterException", 400, `${issue?.path.join(".")}: ${issue?.message}`);
}

function notFound(what: string): AwsError {
  return new AwsError("ResourceNotFoundException", 400, `Secrets Manager can't find the specified ${what}.`);
}
