import { InvokeCommand } from "@aws-sdk/client-lambda";
import { afterEach, expect, test } from "vitest";
import { startAwsEndpoint } from "../../local/services/aws-endpoint.ts";
import { createInvocations } from "../../local/services/invocations.ts";
import { lambdaClient } from "../../src/aws/lambda-client.ts";
import { lambdaSweepers } from "../../src/aws/sweepers.ts";
import { useEndpoint } from "./emulators.ts";

let end: (() => Promise<unknown>) | undefined;
afterEach(() => end?.());

/** Plays a Lambda with one function, `tick`. `invoked`: the events of its invocations. */
async function lambdaWithTick() {
  const invocations = createInvocations();
  const endpoint = await startAwsEndpoint(invocations.operations);
  end = endpoint.stop;
  useEndpoint("LAMBDA", endpoint.url);
  const invoked: unknown[] = [];
  invocations.start((name, event) => {
    if (name !== "tick") return undefined;
    invoked.push(event);
    return Promise.resolve({ outcome: "returned", payload: "null" });
  });
  return { invoked, client: lambdaClient() };
}

test("a part of a tick invokes the function with its shards and its end", async () => {
  const { client, invoked } = await lambdaWithTick();
  const sweepers = lambdaSweepers({ client, functionName: "tick", most: 3, wait: async () => {} });
  expect(sweepers.most).toBe(3);
  const part = { shards: [4, 5], hung: [], until: 1_772_355_600_000 };
  await sweepers.start(part);
  expect(invoked).toEqual([part]);
});

test("an invocation that Lambda refuses throws `unavailable`", async () => {
  const { client } = await lambdaWithTick();
  const sweepers = lambdaSweepers({ client, functionName: "another", most: 3, wait: async () => {} });
  await expect(sweepers.start({ shards: [0], hung: [], until: 1 })).rejects.toMatchObject({
    code: "unavailable",
    message: "Lambda did not start another: there is no function another",
  });
});

test("the local stack refuses an invocation that is only a trial", async () => {
  const { client, invoked } = await lambdaWithTick();
  const trial = { FunctionName: "tick", InvocationType: "DryRun", Payload: "{}" } as const;
  const asked = client.send(new InvokeCommand(trial));
  await expect(asked).rejects.toThrow("InvocationType must be Event or RequestResponse, is DryRun");
  expect(invoked).toEqual([]);
});
