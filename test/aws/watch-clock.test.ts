import { GetItemCommand } from "@aws-sdk/client-dynamodb";
import { afterEach, expect, it, vi } from "vitest";
import { dynamoClient } from "../../src/aws/clients.ts";
import { watchClock } from "../../src/aws/watch-clock.ts";
import { scriptedService } from "./scripted-service.ts";

afterEach(() => vi.unstubAllEnvs());

const NOW = Date.parse("2026-03-01T12:00:00.400Z");

/**
 * Calls DynamoDB three times. Its answers say `date` as their time. The clock shows `NOW` before each call, and `took` ms more after the
 * call. Answers the warnings.
 */
async function warningsAt(date: string, took: number): Promise<string[]> {
  const service = await scriptedService(() => ({ status: 200, body: {}, date }));
  vi.stubEnv("AWS_ENDPOINT_URL_DYNAMODB", service.endpoint);
  vi.stubEnv("AWS_REGION", "us-east-1");
  vi.stubEnv("AWS_ACCESS_KEY_ID", "test");
  vi.stubEnv("AWS_SECRET_ACCESS_KEY", "test");
  const warnings: string[] = [];
  let reads = 0;
  const clock = (): number => NOW + (reads++ % 2) * took;
  const client = watchClock(dynamoClient(), clock, (sentence) => warnings.push(sentence));
  try {
    for (let i = 0; i < 3; i++)
      await client.send(new GetItemCommand({ TableName: "jobs", Key: { pk: { S: "a" }, sk: { S: "b" } } }));
  } finally {
    client.destroy();
    await service.close();
  }
  expect(service.requests).toHaveLength(3);
  return warnings;
}

const at = (seconds: number): string => new Date(NOW + seconds * 1000).toUTCString();

it.each([
  ["the same time", at(0), 100],
  ["five seconds less, which may be half a second less", at(-5), 100],
  ["a time within a call of 14 s", at(14), 14_000],
  ["no time", "", 100],
  ["a time that is no date", "soon", 100],
])("a clock raises no warning if the service says %s", async (_, date, took) => {
  expect(await warningsAt(date, took)).toEqual([]);
});

it.each([
  [at(-20), "19 s ahead of DynamoDB's"],
  [at(20), "20 s behind DynamoDB's"],
  [at(-3600), "3599 s ahead of DynamoDB's"],
])("a clock that is wrong against %s raises one warning: it is %s", async (date, text) => {
  const warnings = await warningsAt(date, 100);
  expect(warnings).toHaveLength(1);
  expect(warnings[0]).toContain(`the clock of this machine is ${text}; the clocks`);
});
