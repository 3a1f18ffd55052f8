import type * as z from "zod/mini";
import type { Logs } from "../core/log-groups.ts";
import type { Context, Timers } from "../protocol/ports.ts";
import type { ProblemCode } from "./problem.ts";

type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** The parts of the program that the handlers of routes use. */
export type Service = {
  readonly ctx: Context;
  /** Reads the version of the package. */
  readonly version: () => Promise<string>;
  readonly timers: Timers;
  readonly log: {
    info(message: string, extra: Decision): void;
    warn(message: string, extra: { error: string }): void;
    error(message: string, error: Error): void;
  };
};

/**
 * The log entry of a call that changes a topic, a schedule or many jobs. `caller`: the ARN that signed the call; absent if the API
 * does not require signatures.
 */
export type Decision = { call: string; topic?: string; schedule?: string; caller?: string };

/** A request, as API Gateway or a client in this process sends it. */
export type HttpRequest = {
  readonly method: string;
  /** Each segment of the path is percent-encoded. */
  readonly path: string;
  /** The query string without its `?`. */
  readonly query: string;
  /** The values of the headers, by lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  /** Text, or the bytes of text. */
  readonly body?: string | Uint8Array | undefined;
  /** Aborted when the caller does not wait for the answer any more. Only callers in the same process abort it. */
  readonly signal?: AbortSignal | undefined;
};

/** The answer to a request: its headers by lower-case names, and its body as text. */
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
  /** The `signal` of the request. */
  readonly signal: AbortSignal | undefined;
};

export type Answer = {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
};

/**
 * `Location`: the path of the job or schedule. `Idempotent-Replayed`: an earlier request with the same `Idempotency-Key` filed,
 * kept, replaced or postponed the job.
 */
export type AnswerHeader = "Location" | "Idempotent-Replayed";

/** One call of the API: its parameters, its answers and its handler. The OpenAPI document is made from the routes. */
export type Route<P = unknown, Q = unknown, H = unknown, B = unknown> = {
  readonly method: Method;
  /** The path, with its parameters in braces. */
  readonly path: string;
  readonly operationId: string;
  readonly summary: string;
  readonly params?: z.ZodMiniType<P>;
  /** A strict object. Absent: the call takes no query parameters. */
  readonly query?: z.ZodMiniType<Q>;
  /** The headers that the call reads, by lower-case names. */
  readonly headers?: z.ZodMiniType<H>;
  readonly body?: z.ZodMiniType<B>;
  /** Each call that succeeds is logged as a `Decision`. */
  readonly isDecision?: true;
  /** An empty body stands for `{}`. */
  readonly bodyOptional?: true;
  /** The schemas of successful answers by status. */
  readonly answers: Readonly<Record<number, z.core.$ZodType>>;
  /** The headers of successful answers. */
  readonly answerHeaders?: readonly AnswerHeader[];
  /**
   * The codes of refusals, besides `bad-request`, `internal` and `unavailable`, which every call has, and `too-large`, which every call
   * with a body has.
   */
  readonly problems: readonly ProblemCode[];
  handle(call: Call<P, Q, H, B>): Promise<Answer>;
};

/** Makes TypeScript check a route's handler against the route's schemas. */
export function route<P, Q, H, B>(described: Route<P, Q, H, B>): Route {
  return described;
}
