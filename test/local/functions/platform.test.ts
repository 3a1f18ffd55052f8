import { expect, test } from "vitest";
import { platformVariables, readPlatform } from "../../../local/functions/platform.ts";

const ENDPOINTS = {
  dynamodb: "http://127.0.0.1:1",
  sqs: "http://127.0.0.1:2",
  scheduler: "http://127.0.0.1:3",
  secretsManager: "http://127.0.0.1:3",
  eventBridge: "http://127.0.0.1:3",
  lambda: "http://127.0.0.1:3",
};
const OWN = { AWS_REGION: "eu-west-1", AWS_ACCESS_KEY_ID: "key", AWS_SECRET_ACCESS_KEY: "secret" };
const variablesIn = (env: NodeJS.ProcessEnv) => platformVariables(readPlatform(env), ENDPOINTS, env);

test("if no service runs elsewhere, functions get no region and keys of the shell", () => {
  expect(variablesIn({ ...OWN, AWS_ENDPOINT_URL_S3: "" })).toMatchObject({
    AWS_REGION: "us-east-1",
    AWS_ACCESS_KEY_ID: "local",
  });
});

test("functions find the services that run elsewhere, with the keys for them, and those that are played here", () => {
  const env = {
    ...OWN,
    AWS_ENDPOINT_URL: "http://127.0.0.1:4566",
    AWS_ENDPOINT_URL_S3: "http://127.0.0.1:9000",
    AWS_ENDPOINT_URL_LAMBDA: "http://127.0.0.1:4566",
  };
  expect(variablesIn(env)).toMatchObject({
    ...OWN,
    AWS_ENDPOINT_URL: "http://127.0.0.1:4566",
    AWS_ENDPOINT_URL_S3: "http://127.0.0.1:9000",
    AWS_ENDPOINT_URL_DYNAMODB: ENDPOINTS.dynamodb,
    AWS_ENDPOINT_URL_LAMBDA: ENDPOINTS.lambda,
  });
});
