import { onTestFinished, vi } from "vitest";
import { startReceiver } from "../support/receiver.ts";

export type Shop = {
  /** The paths called so far. */
  readonly calls: string[];
  /** What a path answers from now on; others are not served. */
  answer(path: string, body: object): void;
};

/** The shop's service on loopback, as the examples' handlers call it, for one test. */
export async function openShop(): Promise<Shop> {
  const calls: string[] = [];
  const answers = new Map<string, object>();
  const server = await startReceiver(({ url = "" }, response) => {
    calls.push(url);
    const body = answers.get(url);
    response.writeHead(body ? 200 : 503, { "content-type": "application/json" });
    response.end(JSON.stringify(body ?? {}));
  });
  vi.stubEnv("SHOP_URL", `http://127.0.0.1:${server.port}`);
  onTestFinished(async () => {
    vi.unstubAllEnvs();
    await server[Symbol.asyncDispose]();
  });
  return { calls, answer: (path, body) => void answers.set(path, body) };
}
