import { afterEach, expect, it, vi } from "vitest";
import { startAwsEndpoint } from "../../local/services/aws-endpoint.ts";
import { createInvocations } from "../../local/services/invocations.ts";
import { createSweepers } from "../../src/environment/sweepers.ts";
import { useEndpoint } from "../aws/emulators.ts";

const PART = { shards: [3], hung: [], until: 1_772_355_600_000 };

afterEach(() => {
  vi.doUnmock("../../src/aws/lambda-client.ts");
});

it("throws outside a function", () => {
  expect(() => createSweepers({})).toThrow("environment variable AWS_LAMBDA_FUNCTION_NAME must be set");
});

it("starts as many further invocations as are reserved, or else 63", () => {
  const environment = { AWS_LAMBDA_FUNCTION_NAME: "tick" };
  expect(createSweepers(environment).most).toBe(63);
  expect(createSweepers({ ...environment, MINUTEHAND_SWEEPERS: "0" }).most).toBe(0);
});

it("invokes the function in which it runs, and makes one client of Lambda on first use", async () => {
  const invocations = createInvocations();
  const endpoint = await startAwsEndpoint(invocations.operations);
  useEndpoint("LAMBDA", endpoint.url);
  const invoked: unknown[] = [];
  invocations.start((name, event) => {
    invoked.push([name, event]);
    return Promise.resolve({ outcome: "returned", payload: "null" });
  });
  let clients = 0;
  vi.doMock("../../src/aws/lambda-client.ts", async (original) => {
    const { lambdaClient } = await original<typeof import("../../src/aws/lambda-client.ts")>();
    return {
      lambdaClient: () => {
        clients += 1;
        return lambdaClient();
      },
    };
  });
  const sweepers = createSweepers({ AWS_LAMBDA_FUNCTION_NAME: "tick" });
  expect(clients).toBe(0);
  await Promise.all([sweepers.start(PART), sweepers.start({ ...PART, shards: [4] })]);
  await endpoint.stop();
  expect(clients).toBe(1);
  expect(invoked).toEqual(
    expect.arrayContaining([
      ["tick", PART],
      ["tick", { ...PART, shards: [4] }],
    ]),
  );
});
