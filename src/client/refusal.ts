import { reasonOf } from "../core/errors.ts";
import type { Problem } from "../http/answers/problem.ts";

/** AWS refuses a role without a permission, or credentials. */
const REFUSED = /AccessDenied|CredentialsProviderError|UnrecognizedClient|InvalidClientTokenId|ExpiredToken/;
/** An error can be its own cause. */
const DEEPEST_CAUSE = 8;

/** `undefined`: AWS did not refuse the call. With AWS's own text, because the refused role is the caller's own. */
export function refusalOf(thrown: unknown): Problem | undefined {
  let cause = thrown;
  for (let depth = 0; depth < DEEPEST_CAUSE && cause instanceof Error; depth++) {
    if (REFUSED.test(cause.name)) {
      const detail = `AWS refused a call of this process, which needs the permissions of the construct's grantEnqueue or grantPull: ${reasonOf(cause)}`;
      return { type: "about:blank", title: "Forbidden", status: 403, code: "forbidden", detail };
    }
    cause = cause.cause;
  }
  return undefined;
}
