import { createServer } from "node:http";
import { GetItemCommand } from "@aws-sdk/client-dynamodb";
import { afterEach, expect, it, vi } from "vitest";
import { dynamoClient } from "../../aws/clients.ts";
import { watchClock } from "../../aws/watch-clock.ts";

afterEach(() => vi.unstubAllEnvs());

const NOW = Date.parse("2026-03-01T12:00:00.400Z");

/** Asks a service that says `date`, several times, with a clock that shows `NOW` and goes on by `took` ms in each call. Answers the warnings. */
async function warningsAt(date: string | undefined, took: number): Promise<string[]> {
  const server = createServer((_, response) => {
    response.sendDate = false;
    if (date !== undefined) response.setHeader("date", date);
    response.end("{}");
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  vi.stubEnv("AWS_ENDPOINT_URL_DYNAMODB", `http://127.0.0.1:${port}`);
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
    server.closeAllConnections();
    server.close();
  }
  return warnings;
}

const at = (seconds: number): string => new Date(NOW + seconds * 1000).toUTCString();

it.each([
  ["the same time", at(0), 100],
  ["five seconds less, which may be half a second less", at(-5), 100],
  ["a time within a call of 14 s", at(14), 14_000],
  ["no time", undefined, 100],
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
