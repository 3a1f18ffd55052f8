import { expect, onTestFinished, test, vi } from "vitest";
import { readLogEvents } from "../../src/aws/log-events.ts";
import { type Answer, error, ok, type Request, scriptedService } from "./scripted-service.ts";

const RANGE = { region: "eu-central-1", group: "/aws/lambda/Mail", pattern: '"01K"', start: 1000, end: 9000 };

async function readFrom(script: (request: Request, count: number) => Answer) {
  vi.stubEnv("AWS_ACCESS_KEY_ID", "key");
  vi.stubEnv("AWS_SECRET_ACCESS_KEY", "secret");
  const service = await scriptedService(script);
  vi.stubEnv("AWS_ENDPOINT_URL_CLOUDWATCH_LOGS", service.endpoint);
  onTestFinished(async () => {
    vi.unstubAllEnvs();
    await service.close();
  });
  const { signal } = new AbortController();
  return { service, read: readLogEvents(RANGE, signal).catch((thrown: unknown) => thrown) };
}

test("the events of all answers are read, also after an answer without events", async () => {
  const answers = [
    ok({ events: [{ message: "a", timestamp: 1500, eventId: "1" }], nextToken: "1" }),
    ok({ nextToken: "2" }),
    ok({ events: [{ message: "b", timestamp: 1600 }] }),
  ];
  const { service, read } = await readFrom((_, count) => answers[count - 1] ?? ok({}));
  expect(await read).toEqual({
    events: [
      { message: "a", timestamp: 1500 },
      { message: "b", timestamp: 1600 },
    ],
    isWhole: true,
  });
  const input = { logGroupName: RANGE.group, filterPattern: '"01K"', startTime: 1000, endTime: 9000 };
  expect(service.requests).toEqual([
    { operation: "FilterLogEvents", input },
    { operation: "FilterLogEvents", input: { ...input, nextToken: "1" } },
    { operation: "FilterLogEvents", input: { ...input, nextToken: "2" } },
  ]);
});

test("a log with very many events, or without an end, is read in part", async () => {
  const events = Array.from({ length: 600 }, (_, at) => ({ message: "x", timestamp: at }));
  const many = await readFrom(() => ok({ events, nextToken: "more" }));
  expect(await many.read).toMatchObject({ events: { length: 1200 }, isWhole: false });
  const empty = await readFrom(() => ok({ nextToken: "more" }));
  expect(await empty.read).toEqual({ events: [], isWhole: false });
  expect(empty.service.requests).toHaveLength(40);
});

test.each([
  [
    error(400, "AccessDeniedException"),
    "forbidden",
    /^your AWS credentials may not read the log group \/aws\/lambda\/Mail in eu-central-1: they need the permission logs:FilterLogEvents\. AWS says: scripted AccessDeniedException$/,
  ],
  [error(400, "ResourceNotFoundException"), "unavailable", /has no log group \/aws\/lambda\/Mail/],
  [error(400, "ThrottlingException"), "unavailable", /answered 400 ThrottlingException: scripted/],
  [{ status: 502, body: "<html>" }, "unavailable", /answered 502/],
  ["cut", "unavailable", /^CloudWatch Logs did not answer/],
] as [Answer, string, RegExp][])("a refusal is said in words: %j", async (answer, code, message) => {
  const { read } = await readFrom(() => answer);
  expect(await read).toMatchObject({ code, message: expect.stringMatching(message) });
});
