import type * as z from "zod/mini";
import type { Context, Timers } from "../protocol/ports.ts";
import type { Logs } from "../settings/log-groups.ts";
import type { ProblemCode } from "./problem.ts";

type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

export type Service = {
  readonly ctx: Context;
  readonly version: () => Promise<string>;
  readonly timers: Timers;
  readonly log: {
    info(message: string, extra: Decision): void;
    warn(message: string, extra: { error: string }): void;
    error(message: string, error: Error): void;
  };
};

/** Logged for a call that changes a topic, a schedule or many jobs. `caller`: see `Bindings`. */
export type Decision = { call: string; topic?: string; schedule?: string; caller?: string };

/** A request from API Gateway or from a client in this process. */
export type HttpRequest = {
  readonly method: string;
  /** Each segment of the path is percent-encoded. */
  readonly path: string;
  /** The query string without its `?`. */
  readonly query: string;
  /** By lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  /** Text, or the bytes of text. */
  readonly body?: string | Uint8Array | undefined;
  /** Aborted when a caller in the same process, or of the local stack, does not wait for the answer any more. */
  readonly signal?: AbortSignal | undefined;
};

/**
 * Facts about a request from API Gateway. `caller`: the ARN of the user or role that signed the request, or whom the API's authorizer names.
 * `logs`: as in `Call`.
 */
export type Bindings = {
  readonly caller?: string | undefined;
  readonly logs?: (() => Logs | undefined) | undefined;
};

/** Headers by lower-case names. */
export type HttpAnswer = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

/** A validated request. `text` is its body as it was sent. `logs` reads where the functions of topics write their logs, if that is known. */
export type Call<P, Q, H, B> = {
  readonly service: Service;
  readonly ctx: Context;
  readonly logs: () => Logs | undefined;
  readonly method: string;
  readonly path: string;
  readonly params: P;
  readonly query: Q;
  readonly headers: H;
  readonly body: B;
  readonly text: string;
  readonly signal: AbortSignal | undefined;
};

export type Answer = {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
};

/**
 * `Location`: the path of the job or schedule. `Idempotent-Replayed`: an earlier request with the same `Idempotency-Key` did this. `ETag`: the
 * job's revision.
 */
export type AnswerHeader = "Location" | "Idempotent-Replayed" | "ETag";

/** The OpenAPI document is made from the routes. */
export type Route<P = unknown, Q = unknown, H = unknown, B = unknown> = {
  readonly method: Method;
  /** The path, with its parameters in braces. */
  readonly path: string;
  readonly operationId: string;
  readonly summary: string;
  readonly params?: z.ZodMiniType<P>;
  /** A strict object. Absent: no query parameters. */
  readonly query?: z.ZodMiniType<Q>;
  /** By lower-case names. */
  readonly headers?: z.ZodMiniType<H>;
  readonly body?: z.ZodMiniType<B>;
  /** Calls that succeed are logged as a `Decision`. */
  readonly isDecision?: true;
  /** An empty body stands for `{}`. */
  readonly bodyOptional?: true;
  /** The schemas of successful answers, by status. */
  readonly answers: Readonly<Record<number, z.core.$ZodType>>;
  readonly answerHeaders?: readonly AnswerHeader[];
  /** Besides `bad-request`, `internal` and `unavailable`, which every call has, and `too-large`, which every call with a body has. */
  readonly problems: readonly ProblemCode[];
  handle(call: Call<P, Q, H, B>): Promise<Answer>;
};

/** TypeScript then checks the handler against the schemas. */
export function route<P, Q, H, B>(described: Route<P, Q, H, B>): Route {
  return described;
}
