import { afterEach, expect, test } from "vitest";
import type { Outcome } from "../../../local/functions/execution-environment.ts";
import { startAwsEndpoint } from "../../../local/services/aws-endpoint.ts";
import { createInvocations } from "../../../local/services/invocations.ts";
import { lambdaInvoke } from "../../../src/aws/invoke.ts";
import { waitingClient } from "../../../src/aws/lambda-client.ts";
import { useEndpoint } from "../../aws/emulators.ts";

let end: (() => Promise<unknown>) | undefined;
afterEach(() => end?.());

/** Invokes the function `thumbnail`, which ends so, and waits for its answer. */
async function invoke(outcome: Outcome, name = "thumbnail") {
  const invocations = createInvocations();
  const endpoint = await startAwsEndpoint(invocations.operations);
  end = endpoint.stop;
  useEndpoint("LAMBDA", endpoint.url);
  const events: unknown[] = [];
  invocations.start((asked, event) => {
    if (asked !== "thumbnail") return undefined;
    events.push(event);
    return Promise.resolve(outcome);
  });
  const invoked = await lambdaInvoke(waitingClient(), name)('{"id":"7"}', new AbortController().signal);
  expect(events).toEqual([{ id: "7" }]);
  return "payload" in invoked
    ? { ...invoked, payload: JSON.parse(Buffer.from(invoked.payload).toString()) }
    : invoked;
}

test.each(["null", '{"retryIn":"30s"}', '"text"'])(
  "a caller who waits gets what the function has answered: %s",
  async (payload) => {
    expect(await invoke({ outcome: "returned", payload })).toEqual({ payload: JSON.parse(payload) });
  },
);

test.each(["threw", "crashed", "timed-out", "too-large"] as const)(
  "a caller who waits learns that the function %s",
  async (outcome) => {
    const error = { errorType: "ValueError", errorMessage: "no width" };
    const thrown = { message: "no width", stack: "at home" };
    expect(await invoke({ outcome, error: { ...error, thrown } })).toEqual({
      payload: error,
      functionError: "Unhandled",
    });
  },
);

test("a caller of a function that the stack does not have gets an error", async () => {
  await expect(invoke({ outcome: "returned", payload: "null" }, "other")).rejects.toMatchObject({
    name: "ResourceNotFoundException",
  });
});
