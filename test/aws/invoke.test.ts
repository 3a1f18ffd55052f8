import { afterEach, expect, test } from "vitest";
import { lambdaInvoke } from "../../src/aws/invoke.ts";
import { waitingClient } from "../../src/aws/lambda-client.ts";
import { useEndpoint } from "./emulators.ts";
import { type Answer, error, ok, type ScriptedService, scriptedService } from "./scripted-service.ts";

const ARN = "arn:aws:lambda:us-east-1:123456789012:function:thumbnail:live";
const { signal } = new AbortController();

let service: ScriptedService | undefined;
afterEach(async () => {
  delete process.env.AWS_ENDPOINT_URL_LAMBDA;
  await service?.close();
});

async function invoke(answer: Answer, aborted = signal) {
  service = await scriptedService(() => answer);
  useEndpoint("LAMBDA", service.endpoint);
  return lambdaInvoke(waitingClient(), ARN)('{"id":"7"}', aborted);
}

test("an invocation sends the job to the function or the alias, and answers what the function says", async () => {
  const answer = await invoke(ok({ retryIn: "30s" }));
  expect(service?.requests).toEqual([
    {
      operation: `POST /2015-03-31/functions/${encodeURIComponent(ARN)}/invocations`,
      input: { id: "7" },
    },
  ]);
  expect(answer).toEqual({ payload: expect.anything() });
  expect(Buffer.from((answer as { payload: Uint8Array }).payload).toString()).toBe('{"retryIn":"30s"}');
});

test("an invocation that Lambda throttles says so, and is not tried again at once", async () => {
  const answer = await invoke(error(429, "TooManyRequestsException", { message: "Rate Exceeded." }));
  expect(answer).toEqual({ throttled: "Rate Exceeded." });
  expect(service?.requests).toHaveLength(1);
});

test.each<[string, Answer]>([
  ["an error of Lambda", error(500, "ServiceException")],
  ["a missing function", error(404, "ResourceNotFoundException")],
  ["a cut connection", "cut"],
  ["an answer that breaks off", "cut in the body"],
])("after %s the function may have run, so it throws and tries no second time", async (_, answer) => {
  await expect(invoke(answer)).rejects.toThrow();
  expect(service?.requests).toHaveLength(1);
});

test("an invocation ends when its caller aborts it", async () => {
  const abort = new AbortController();
  const pending = invoke("hang", abort.signal);
  setTimeout(() => abort.abort(new Error("the time is over")), 50);
  await expect(pending).rejects.toThrow("the time is over");
});
