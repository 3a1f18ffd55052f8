import type { MessageJob } from "../../core/message.ts";
import type { WebhookPolicy } from "../../core/policy.ts";

/** One POST to a receiver. Header names are lower case. */
export type Call = {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly policy: WebhookPolicy;
};

/** What a receiver answered. `body`: the start of the answer's body. */
export type Reply = { readonly status: number; readonly retryAfter?: string; readonly body: string };

/** Makes one call. Throws if no answer came, or `signal` was aborted. */
export type Post = (call: Call, signal: AbortSignal) => Promise<Reply>;

/**
 * The `webhook-id` of a job's calls. It is the same on each retry, so that receivers can drop repeated calls. After a redrive, or
 * after a change of a job that has run before, the calls have another `webhook-id`.
 */
export function callId({ id, restarts = 0 }: Pick<MessageJob, "id" | "restarts">): string {
  return restarts === 0 ? id : `${id}-${restarts}`;
}
