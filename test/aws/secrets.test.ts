import { afterEach, expect, test } from "vitest";
import { secretsClient } from "../../src/aws/clients.ts";
import { secretVersions } from "../../src/aws/secrets.ts";
import { MINUTE, SECOND, START } from "../support/world.ts";
import { useEndpoint } from "./emulators.ts";
import {
  type Answer,
  error,
  ok,
  type Request,
  type ScriptedService,
  scriptedService,
} from "./scripted-service.ts";

const ARN = "arn:aws:secretsmanager:us-east-1:123456789012:secret:hooks-AbCdEf";

let service: ScriptedService | undefined;
afterEach(async () => {
  // Other test files run in the same process.
  delete process.env.AWS_ENDPOINT_URL_SECRETS_MANAGER;
  await service?.close();
});

async function secretsOn(script: (request: Request) => Answer) {
  service = await scriptedService(script);
  useEndpoint("SECRETS_MANAGER", service.endpoint);
  let now = START;
  const troubles: string[] = [];
  const secrets = secretVersions({
    client: secretsClient(),
    arn: ARN,
    clock: () => now,
    onTrouble: (trouble) => troubles.push(trouble),
  });
  const { requests } = service;
  return { secrets, requests, troubles, pass: (ms: number) => (now += ms) };
}

const stageOf = ({ input }: Request) => String(input.VersionStage);

test("a secret's values are its current value and its previous value", async () => {
  const { secrets, requests } = await secretsOn((request) => ok({ SecretString: stageOf(request) }));
  expect(await secrets()).toEqual(["AWSCURRENT", "AWSPREVIOUS"]);
  expect(requests.map(({ operation, input }) => [operation, input.SecretId])).toEqual([
    ["GetSecretValue", ARN],
    ["GetSecretValue", ARN],
  ]);
});

test("a secret that was never changed has only its current value", async () => {
  const { secrets } = await secretsOn((request) =>
    stageOf(request) === "AWSCURRENT"
      ? ok({ SecretString: "only" })
      : error(400, "ResourceNotFoundException"),
  );
  expect(await secrets()).toEqual(["only"]);
});

test("a secret's values are used for five minutes, and then read again", async () => {
  let value = "old";
  const { secrets, pass, requests } = await secretsOn(() => ok({ SecretString: value }));
  await secrets();
  value = "new";
  pass(5 * MINUTE - 1);
  expect(await secrets()).toEqual(["old", "old"]);
  expect(requests).toHaveLength(2);
  pass(1);
  expect(await secrets()).toEqual(["new", "new"]);
});

test("if a read of a secret fails, the last values are used, the error is reported, and the next read is half a minute later", async () => {
  let failing = false;
  const { secrets, pass, requests, troubles } = await secretsOn(() =>
    failing ? error(400, "AccessDeniedException") : ok({ SecretString: "known" }),
  );
  await secrets();
  failing = true;
  pass(5 * MINUTE);
  expect(await secrets()).toEqual(["known", "known"]);
  expect(troubles).toEqual(["scripted AccessDeniedException"]);
  const before = requests.length;
  pass(30 * SECOND - 1);
  await secrets();
  expect(requests).toHaveLength(before);
  failing = false;
  pass(1);
  await secrets();
  expect(requests.length).toBeGreaterThan(before);
  expect(troubles).toHaveLength(1);
});

test("if a secret was never read and cannot be read, the call throws `unavailable`, and the next call reads again", async () => {
  let failing = true;
  const { secrets } = await secretsOn(() =>
    failing ? error(400, "ResourceNotFoundException") : ok({ SecretString: "there" }),
  );
  await expect(secrets()).rejects.toMatchObject({
    code: "unavailable",
    message: expect.stringContaining(`the webhook's secret ${ARN} cannot be read`),
  });
  failing = false;
  expect(await secrets()).toEqual(["there", "there"]);
});
