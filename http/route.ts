import type * as z from "zod/mini";
import type { Context, Timers } from "../protocol/ports.ts";
import type { ProblemCode } from "./problem.ts";

type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** What routes need beside the protocol. */
export type Service = {
  readonly ctx: Context;
  readonly version: string;
  readonly timers: Timers;
  readonly log: {
    info(message: string, extra: Decision): void;
    warn(message: string, extra: { error: string }): void;
    error(message: string, error: Error): void;
  };
};

/** A call that somebody decides on for a topic, a schedule or many jobs. `caller`: by IAM; absent where nobody signs. */
export type Decision = { call: string; topic?: string; schedule?: string; caller?: string };

/** A validated request. `text` is its body as it was sent. */
export type Call<P, Q, H, B> = {
  readonly service: Service;
  readonly ctx: Context;
  readonly method: string;
  readonly path: string;
  readonly params: P;
  readonly query: Q;
  readonly headers: H;
  readonly body: B;
  readonly text: string;
};

export type Answer = {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
};

/** Where what was filed is; and that it was filed before, by the same request with the same `Idempotency-Key`. */
export type AnswerHeader = "Location" | "Idempotent-Replayed";

/** One call of the API: what it takes, what it answers and what it does. The OpenAPI document is made of these. */
export type Route<P = unknown, Q = unknown, H = unknown, B = unknown> = {
  readonly method: Method;
  /** With its parameters in braces. */
  readonly path: string;
  readonly operationId: string;
  readonly summary: string;
  readonly params?: z.ZodMiniType<P>;
  /** A strict object; without one there are no query parameters. */
  readonly query?: z.ZodMiniType<Q>;
  /** Lower-case names. */
  readonly headers?: z.ZodMiniType<H>;
  readonly body?: z.ZodMiniType<B>;
  /** It is logged who called it, and for what. */
  readonly isDecision?: true;
  /** An empty body stands for `{}`. */
  readonly bodyOptional?: true;
  /** The schemas of successful answers by status. */
  readonly answers: Readonly<Record<number, z.core.$ZodType>>;
  /** The headers of its successful answers. */
  readonly answerHeaders?: readonly AnswerHeader[];
  /** Beside `bad-request`, `internal` and `unavailable`, which every call knows. */
  readonly problems: readonly ProblemCode[];
  handle(call: Call<P, Q, H, B>): Promise<Answer>;
};

/** Checks a route's handler against its own schemas. */
export function route<P, Q, H, B>(described: Route<P, Q, H, B>): Route {
  return described;
}
