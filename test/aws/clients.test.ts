import { createServer, type IncomingHttpHeaders } from "node:http";
import { SendMessageCommand } from "@aws-sdk/client-sqs";
import { afterEach, expect, test, vi } from "vitest";
import { sqsClient } from "../../src/aws/clients.ts";

afterEach(() => vi.unstubAllEnvs());

/** Sends a message in an invocation with this trace header, and answers the trace header of the request to SQS. */
async function sentTrace(trace: string): Promise<IncomingHttpHeaders[string]> {
  const { promise, resolve } = Promise.withResolvers<IncomingHttpHeaders[string]>();
  const server = createServer((request, response) => {
    resolve(request.headers["x-amzn-trace-id"]);
    response.end("{}");
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  vi.stubEnv("AWS_ENDPOINT_URL_SQS", `http://127.0.0.1:${port}`);
  vi.stubEnv("AWS_REGION", "us-east-1");
  vi.stubEnv("AWS_ACCESS_KEY_ID", "test");
  vi.stubEnv("AWS_SECRET_ACCESS_KEY", "test");
  vi.stubEnv("AWS_LAMBDA_FUNCTION_NAME", "a-consumer");
  vi.stubEnv("_X_AMZN_TRACE_ID", trace);
  try {
    await sqsClient().send(new SendMessageCommand({ QueueUrl: "https://q", MessageBody: "1" }));
    return await promise;
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

const ROOT = "Root=1-5759e988-bd862e3fe1be46a994272793";

test.each([
  [
    `${ROOT};Parent=53995c3f42cd8ad8;Sampled=1;Lineage=1:a87bd80c:15`,
    `${ROOT};Parent=53995c3f42cd8ad8;Sampled=1`,
  ],
  [`Lineage=a87bd80c:1|68fd508a:5;${ROOT}`, ROOT],
  [`${ROOT};Parent=53995c3f42cd8ad8;Sampled=0`, `${ROOT};Parent=53995c3f42cd8ad8;Sampled=0`],
])(
  "a message of an invocation with the trace header %s carries the header without its Lineage",
  async (trace, sent) => {
    expect(await sentTrace(trace)).toBe(sent);
  },
);
