import { expect } from "vitest";
import * as z from "zod/mini";
import { problem } from "../../src/http/answers/problem.ts";
import { type App, createApp } from "../../src/http/app.ts";
import { openapiDocument } from "../../src/http/openapi.ts";
import type { Route } from "../../src/http/route.ts";
import { routes } from "../../src/http/route-table.ts";
import { fetchApp } from "./fetch-app.ts";
import { createWorld, type World } from "./world.ts";

const document = openapiDocument(routes, "1.2.3");

export type Sent = {
  body?: unknown;
  text?: string | Uint8Array<ArrayBuffer>;
  headers?: Record<string, string>;
};
export type Json = Record<string, unknown>;
type Answered = { status: number; headers: Headers; json: Json };

export type Api = {
  world: World;
  app: App;
  logged: string[];
  /** Calls the API, and checks each answer against its schema in the OpenAPI document. */
  call: (method: string, path: string, sent?: Sent) => Promise<Answered>;
  file: (job?: Json, headers?: Record<string, string>) => Promise<Json>;
  receive: (topic?: string) => Promise<Pulled>;
  /** Files a job that is due, pulls it, buries it with `error`, and answers its id. */
  bury: (job?: Json, error?: string) => Promise<string>;
};

type Pulled = { id: string; receipt: string };

/** The HTTP API over the protocol in memory, at 2026-03-01T09:00:00.000Z. */
export function createApi(world: World = createWorld()): Api {
  const logged: string[] = [];
  const log = {
    info: (message: string, extra: object) => void logged.push(`${message}: ${JSON.stringify(extra)}`),
    warn: (message: string, { error }: { error: string }) => void logged.push(`${message}: ${error}`),
    error: (message: string, error: Error) => void logged.push(`${message}: ${error.stack}`),
  };
  const app = createApp(
    { ctx: world.ctx, version: async () => "1.2.3", timers: { ...world.timers, wait: async () => {} }, log },
    routes,
  );

  const call: Api["call"] = async (method, path, { body, text, headers = {} } = {}) => {
    const content = text ?? (body === undefined ? undefined : JSON.stringify(body));
    const init = content === undefined ? {} : { body: content };
    const response = await fetchApp(app, new Request(`https://api${path}`, { method, headers, ...init }));
    const written = await response.text();
    const json: Json = written === "" ? {} : JSON.parse(written);
    if (method !== "HEAD") expectPromised(method, path, response, json);
    return { status: response.status, headers: response.headers, json };
  };
  return { world, app, logged, call, ...jobsOver(call) };
}

function jobsOver(call: Api["call"]): Pick<Api, "file" | "receive" | "bury"> {
  const file: Api["file"] = async (job = {}, headers = {}) => {
    const answered = await call("POST", "/jobs", {
      body: { topic: "orders", body: { n: 1 }, ...("dueAt" in job ? {} : { delay: "1h" }), ...job },
      headers,
    });
    expect(answered.json).toMatchObject({ id: expect.any(String) });
    return answered.json;
  };
  const receive: Api["receive"] = async (topic = "work") => {
    const { json } = await call("POST", `/topics/${topic}/receive`);
    const [pulled] = json.jobs as Pulled[];
    if (!pulled) throw new Error("no job was pulled");
    return pulled;
  };
  const bury: Api["bury"] = async (job = {}, error = "hopeless") => {
    await file({ topic: "work", delay: 0, ...job });
    const { id, receipt } = await receive();
    const buried = await call("POST", "/topics/work/bury", { body: { receipt, error } });
    expect(buried).toMatchObject({ status: 200, json: { id, state: "dead", lastError: error } });
    return id;
  };
  return { file, receive, bury };
}

function expectPromised(method: string, path: string, response: Response, json: Json): void {
  const promised = headersOf(method, path, response.status);
  const named = Object.keys(promised).map((name) => name.toLowerCase());
  const own = ["content-type", ...(response.status === 405 ? ["allow"] : [])];
  for (const [name] of response.headers) if (!own.includes(name)) expect(named).toContain(name);
  for (const [name, { required }] of Object.entries(promised))
    if (required) expect(response.headers.has(name), name).toBe(true);
  if (response.status >= 400) {
    expect(response.headers.get("content-type")).toBe("application/problem+json");
    expect(z.safeParse(problem, json).error).toBeUndefined();
    expect(json.status).toBe(response.status);
    return;
  }
  const route = routeOf(method, path);
  const schema = route?.answers[response.status];
  if (!schema)
    throw new Error(`${method} ${path} answered ${response.status}, which its route does not name`);
  expect(response.headers.get("content-type")).toBe("application/json");
  expect(z.safeParse(schema, json).error).toBeUndefined();
}

function routeOf(method: string, path: string): Route | undefined {
  const [pathname = ""] = path.split("?");
  return routes
    .filter((one) => one.method === method && patternOf(one.path).test(pathname))
    .sort((a, b) => a.path.split("{").length - b.path.split("{").length)[0];
}

function headersOf(method: string, path: string, status: number): Record<string, { required?: boolean }> {
  type Promised = Record<string, Record<string, { responses: Record<string, { headers?: object }> }>>;
  const { paths } = document as unknown as { paths: Promised };
  const operation = paths[routeOf(method, path)?.path ?? ""]?.[method.toLowerCase()];
  return { ...operation?.responses[status]?.headers };
}

function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replace(/\{\w+\}/g, "[^/]+")}$`);
}
