import { expect } from "vitest";
import { requestOf } from "../cli/served-api.ts";
import type { Api } from "./api.ts";
import { fetchApp } from "./fetch-app.ts";
import { type Received, startReceiver } from "./receiver.ts";
import { signatureOf } from "./signature.ts";

const HOST = "a1b2c3.execute-api.eu-central-1.amazonaws.com";
const SECRET = "secret";

export type Gateway = AsyncDisposable & {
  readonly url: string;
  readonly port: number;
  /** The credentials and the proxy of a program that calls `url`. */
  readonly env: Readonly<Record<string, string>>;
  readonly received: readonly Received[];
};

/** Serves the API in memory as if it stood behind API Gateway, and checks the signature of each call. Programs reach it as their HTTP proxy. */
export async function serveGateway({ app }: Api): Promise<Gateway> {
  const receiver = await startReceiver(async (_, response) => {
    const call = receiver.received.at(-1) as Received;
    const { pathname: path, search } = new URL(call.path);
    const answer = await fetchApp(app, requestOf({ ...call, path: path + search }));
    response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text());
  });
  const { port, received } = receiver;
  const proxy = `http://127.0.0.1:${port}`;
  return {
    ...{ url: `http://${HOST}`, port, received },
    env: {
      ...{ AWS_ACCESS_KEY_ID: "AKIDEXAMPLE", AWS_SECRET_ACCESS_KEY: SECRET, AWS_SESSION_TOKEN: "token" },
      // The region of a signature is the API's, and not that of the environment.
      ...{ AWS_REGION: "us-west-2", http_proxy: proxy, HTTP_PROXY: proxy },
    },
    [Symbol.asyncDispose]: () => receiver[Symbol.asyncDispose](),
  };
}

/** Fails unless the signature of a call is right. */
export function expectSigned({ method, path, headers, body }: Received): void {
  const sent = new Headers(Object.entries(headers) as [string, string][]);
  const { pathname, searchParams } = new URL(path);
  const query = [...searchParams].map((pair) => pair.map(encodeURIComponent).join("=")).sort();
  const call = { method, path: pathname, query: query.join("&"), host: HOST, headers: sent, body };
  const signature = signatureOf(call, { secretAccessKey: SECRET, region: "eu-central-1" });
  const authorization = sent.get("authorization");
  expect(authorization).toContain(`Signature=${signature}`);
  expect(authorization).toMatch(/SignedHeaders=[a-z0-9;-]*\bhost;[a-z0-9;-]*x-amz-security-token/);
}
