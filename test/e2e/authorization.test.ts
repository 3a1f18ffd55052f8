import { randomUUID } from "node:crypto";
import { CloudFormationClient } from "@aws-sdk/client-cloudformation";
import { describe, expect, inject, it } from "vitest";
import { apiOver, sharedApi } from "./api.ts";
import { here } from "./here.ts";
import { type Send, signed, unsigned } from "./senders.ts";

const NOBODYS = { accessKeyId: "AKIANOBODYHASTHISKEY", secretAccessKey: "nobody's" };

const suite = here("authorization", "authorization");
const forged = here("signatures", "a call that is signed with a wrong secret is refused");

describe.skipIf(suite.skip)(suite.title, () => {
  it("a call without a signature is refused before any function sees it", async () => {
    await expectRefused(unsigned(apiUrl()));
  });

  it("a call with an unknown access key is refused", async () => {
    await expectRefused(signed(apiUrl(), "us-east-1", async () => NOBODYS));
  });

  it.skipIf(forged.skip)(forged.title, async () => {
    const { credentials, region } = new CloudFormationClient({}).config;
    const wrong = async () => ({ ...(await credentials()), secretAccessKey: "guessed" });
    await expectRefused(signed(apiUrl(), await region(), wrong));
  });
});

async function expectRefused(send: Send): Promise<void> {
  const stranger = apiOver(send);
  const key = `refused-${randomUUID()}`;
  const calls = [
    ["GET", "/health"],
    ["GET", "/topics"],
    ["POST", "/jobs", { topic: "work", key, delay: 600, body: null }],
    ["PUT", `/topics/work/jobs/${key}`, { delay: 600, body: null }],
    ["POST", "/topics/work/receive", { max: 1 }],
  ] as const;
  for (const [method, path, body] of calls)
    expect((await stranger.call(method, path, body)).status).toBe(403);
  expect((await sharedApi().call("GET", `/topics/work/jobs/${key}`)).status).toBe(404);
}

function apiUrl(): string {
  const { api } = inject("target");
  if (!("url" in api)) throw new Error("the target must have an HTTP API");
  return api.url;
}
