import type { ServerResponse } from "node:http";
import { requestOf } from "../cli/served-api.ts";
import { type Api, createApi } from "./api.ts";
import { fetchApp } from "./fetch-app.ts";
import { type Received, startReceiver } from "./receiver.ts";

/**
 * No call arrives (`cut before`), or the answer is lost (`cut after`), breaks off or never comes. An object: the answer. A function runs
 * first.
 */
export type Trouble =
  | "cut before"
  | "cut after"
  | "cut midway"
  | "hang"
  | (() => Promise<unknown>)
  | { status: number; headers?: Record<string, string>; body?: string };

export type TroubledApi = AsyncDisposable & { url: string; api: Api; received: Received[] };

/** Serves the API in memory on a port of this machine. `troubles`: one for each of the first calls; `undefined`: none. */
export async function serveInTrouble(
  troubles: readonly (Trouble | undefined)[],
  api: Api = createApi(),
): Promise<TroubledApi> {
  const left = [...troubles];
  const answer = async (response: ServerResponse): Promise<void> => {
    const trouble = left.shift();
    const request = requestOf(receiver.received.at(-1) as Received);
    if (trouble === "cut before") return void response.destroy();
    if (trouble === "hang") return;
    if (typeof trouble === "object") {
      return void response.writeHead(trouble.status, trouble.headers).end(trouble.body ?? "");
    }
    if (typeof trouble === "function") await trouble();
    const answered = await fetchApp(api.app, request);
    const text = await answered.text();
    if (trouble === "cut after") return void response.destroy();
    response.writeHead(answered.status, Object.fromEntries(answered.headers));
    if (trouble !== "cut midway") return void response.end(text);
    response.write(text.slice(0, 20), () => response.destroy());
  };
  const receiver = await startReceiver((_, response) => void answer(response));
  return {
    api,
    url: `http://127.0.0.1:${receiver.port}`,
    received: receiver.received,
    [Symbol.asyncDispose]: () => receiver[Symbol.asyncDispose](),
  };
}
