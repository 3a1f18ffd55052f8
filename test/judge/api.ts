import { type App, createApp } from "../../src/http/app.ts";
import { routes } from "../../src/http/route-table.ts";
import type { Context } from "../../src/protocol/ports.ts";
import type { Timeline } from "../sim/timeline.ts";

export type Answer = {
  readonly status: number;
  readonly json: Readonly<Record<string, unknown>>;
  readonly code?: string;
};

/** Sends a request to the API. Never answers if the process dies. */
type Ask = (method: string, path: string, body?: unknown, idempotencyKey?: string) => Promise<Answer>;

/** The HTTP API inside one process. `accuse`: called if a request fails with anything that is not a refusal. */
export function createApi(ctx: Context, timeline: Timeline, accuse: (text: string) => void): Ask {
  const timers = {
    wait: timeline.wait,
    after(ms: number, act: () => void) {
      let isOn = true;
      timeline.at(timeline.now() + ms, () => isOn && act());
      return () => {
        isOn = false;
      };
    },
  };
  const error = (_: string, { stack }: Error): void => accuse(`the API failed: ${stack}`);
  const log = { info: () => {}, warn: () => {}, error };
  // Made for the first request, because most processes are ticks.
  let app: App | undefined;
  return async (method, path, body, key) => {
    app ??= createApp({ ctx, version: async () => "0", timers, log }, routes);
    const headers = {
      "content-type": "application/json",
      ...(key !== undefined && { "idempotency-key": key }),
    };
    const answer = await app({ method, path, query: "", headers, body: JSON.stringify(body) });
    const json = JSON.parse(answer.body) as Answer["json"];
    return { status: answer.status, json, ...(typeof json.code === "string" && { code: json.code }) };
  };
}
