import { CloudFormationClient } from "@aws-sdk/client-cloudformation";
import { AwsClient } from "aws4fetch";
import { createContext } from "../../src/environment/context.ts";
import { createEventSources } from "../../src/environment/event-sources.ts";
import { TIMERS } from "../../src/environment/process.ts";
import { createScheduler } from "../../src/environment/scheduler.ts";
import { createApp } from "../../src/http/app.ts";
import { routes } from "../../src/http/route-table.ts";
import { createService } from "../../src/http/service.ts";
import { fetchApp } from "../support/fetch-app.ts";
import type { ApiAccess } from "./target.ts";

type Call = { method: string; headers: Record<string, string>; body?: string };

export type Send = (path: string, call: Call) => Promise<Response>;

export function senderTo(access: ApiAccess): Send {
  if ("environment" in access) return inProcess(access.environment);
  const { url, signedFor } = access;
  return signedFor === undefined ? unsigned(url) : signed(url, signedFor);
}

export function unsigned(url: string): Send {
  return (path, call) => fetch(url + path, call);
}

/** The credentials are those that the AWS SDK finds in the environment, unless given. */
export function signed(
  url: string,
  region: string,
  credentials: Credentials = new CloudFormationClient({ region }).config.credentials,
): Send {
  return async (path, call) => {
    const { accessKeyId, secretAccessKey, sessionToken = "" } = await credentials();
    const keys = { accessKeyId, secretAccessKey, sessionToken };
    return fetch(await new AwsClient({ ...keys, region, service: "execute-api" }).sign(url + path, call));
  };
}

type Credentials = () => Promise<{ accessKeyId: string; secretAccessKey: string; sessionToken?: string }>;

/** Runs the API's app in this process, on the resources that the environment names. */
function inProcess(environment: Readonly<Record<string, string>>): Send {
  const base = createContext(environment);
  const eventSources = createEventSources(base.policy, environment);
  const ctx = { ...base, ...createScheduler(environment), eventSources };
  const app = createApp(createService(ctx, ctx.telemetry.logger, TIMERS), routes);
  return async (path, call) => fetchApp(app, new Request(`https://api${path}`, call));
}

export function inTurn(send: Send): Send {
  let before: Promise<unknown> = Promise.resolve();
  return (path, call) => {
    const answer = before.then(() => send(path, call));
    // The next call must begin even if this one fails. The caller of this call gets the error.
    before = answer.catch(() => {});
    return answer;
  };
}
