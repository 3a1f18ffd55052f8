import { expect, onTestFinished, test, vi } from "vitest";
import { type BusEntry, eventBus } from "../../src/aws/put-events.ts";
import { type Answer, error, ok, type Request, scriptedService } from "./scripted-service.ts";

const entry = (Detail: string): BusEntry => ({
  ...{ EventBusName: "b", Source: "minutehand.shop.orders", DetailType: "JobCompleted", Detail, Time: 1 },
});

async function busThat(script: (request: Request, count: number) => Answer) {
  vi.stubEnv("AWS_ACCESS_KEY_ID", "key");
  vi.stubEnv("AWS_SECRET_ACCESS_KEY", "secret");
  const service = await scriptedService(script);
  onTestFinished(async () => {
    vi.unstubAllEnvs();
    await service.close();
  });
  const waits: number[] = [];
  const wait = async (ms: number): Promise<void> => void waits.push(ms);
  return { put: eventBus({ endpoint: service.endpoint, region: "eu-central-1", wait }), service, waits };
}

test("all events of a call go to the bus in one request", async () => {
  const { put, service } = await busThat(() => ok({ Entries: [{ EventId: "1" }, { EventId: "2" }] }));
  expect(await put([entry("{}"), entry('{"a":1}')])).toEqual([undefined, undefined]);
  expect(service.requests).toEqual([
    { operation: "PutEvents", input: { Entries: [entry("{}"), entry('{"a":1}')] } },
  ]);
});

test("only the events that the bus has refused are put again", async () => {
  const { put, service, waits } = await busThat((_, count) =>
    count === 1
      ? ok({ FailedEntryCount: 1, Entries: [{ EventId: "1" }, { ErrorCode: "InternalFailure" }] })
      : ok({ Entries: [{ EventId: "2" }] }),
  );
  expect(await put([entry("{}"), entry('{"a":1}')])).toEqual([undefined, undefined]);
  expect(service.requests.map(({ input }) => input.Entries)).toEqual([
    [entry("{}"), entry('{"a":1}')],
    [entry('{"a":1}')],
  ]);
  expect(waits).toEqual([100]);
});

test.each([
  ["an error", error(400, "ThrottlingException"), "EventBridge answered 400"],
  ["no answer", "cut", "fetch failed"],
  ["an answer for no event", ok({ Entries: [] }), "NoAnswer"],
  ["a refusal", ok({ Entries: [{ ErrorCode: "AccessDenied", ErrorMessage: "no" }] }), "AccessDenied: no"],
] as [string, Answer, string][])(
  "after three tries with %s, the reason is answered",
  async (_, answer, reason) => {
    const { put, service } = await busThat(() => answer);
    expect(await put([entry("{}")])).toEqual([expect.stringContaining(reason)]);
    expect(service.requests).toHaveLength(3);
  },
);

test("a bus that hangs is waited for less than three seconds", async () => {
  const timeout = vi.spyOn(AbortSignal, "timeout");
  onTestFinished(() => timeout.mockRestore());
  const { put, waits } = await busThat(() => "hang");
  expect(await put([entry("{}")])).toEqual([expect.stringContaining("timeout")]);
  expect(timeout).toHaveBeenCalledTimes(3);
  const waited = [...waits, ...timeout.mock.calls.map(([ms]) => ms)];
  expect(waited.reduce((sum, ms) => sum + ms, 0)).toBeLessThan(3000);
});
