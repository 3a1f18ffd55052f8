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

/** The versions of each secret, by its name. */
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

/**
 * Plays the operations of Secrets Manager that functions and operators need, for secrets that are text:
 * https://docs.aws.amazon.com/secretsmanager/latest/apireference/Welcome.html. A secret's id is its name or its ARN. ARNs have no
 * random ending here.
 */
export function secretsManagerOperations({ region, account, file, now }: Options): Operations {
  const prefix = `arn:aws:secretsmanager:${region}:${account}:secret:`;

  function find(secretId: string): { name: string; versions: readonly Version[] } {
    const name = secretId.startsWith(prefix) ? secretId.slice(prefix.length) : secretId;
    const versions = file.read()[name];
    if (!versions) throw notFound("secret");
    return { name, versions };
  }

  function put(name: string, known: readonly Version[], asked: Omit<Version, "createdAt">): object {
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
    return { ARN: prefix + name, Name: name, VersionId: version.id, VersionStages: version.stages };
  }

  const operations: Record<string, (body: unknown) => object> = {
    CreateSecret: (body) => {
      const {
        Name,
        SecretString: value,
        ClientRequestToken: id = randomUUID(),
      } = validate(createRequest, body);
      if (file.read()[Name])
        throw new AwsError("ResourceExistsException", 400, `the secret ${Name} already exists`);
      return put(Name, [], { id, value, stages: [CURRENT] });
    },
    PutSecretValue: (body) => {
      const { SecretId, SecretString: value, ...more } = validate(putRequest, body);
      const { ClientRequestToken: id = randomUUID(), VersionStages: stages } = more;
      const { name, versions } = find(SecretId);
      return put(name, versions, { id, value, stages });
    },
    GetSecretValue: (body) => {
      const { SecretId, VersionId, VersionStage } = validate(getRequest, body);
      const { name, versions } = find(SecretId);
      const stage = VersionStage ?? (VersionId === undefined ? CURRENT : undefined);
      const version = versions.find(
        ({ id, stages }) =>
          (stage === undefined || stages.includes(stage)) && (VersionId === undefined || id === VersionId),
      );
      if (!version) throw notFound(`secret value for staging label: ${stage}`);
      return {
        ARN: prefix + name,
        Name: name,
        VersionId: version.id,
        SecretString: version.value,
        VersionStages: version.stages,
        CreatedDate: version.createdAt / 1000,
      };
    },
  };
  return Object.fromEntries(
    Object.entries(operations).map(([name, answer]) => [
      `secretsmanager.${name}`,
      { answer: ({ body }) => answer(body) },
    ]),
  );
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
