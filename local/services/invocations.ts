import type { Outcome } from "../functions/execution-environment.ts";
import type { AnyOperations, Reply } from "./aws-endpoint.ts";
import { AwsError } from "./aws-error.ts";

/** Invokes a function by its name or ARN, and answers how the invocation ends. `undefined`: the template has no such function. */
type Invoke = (nameOrArn: string, event: unknown) => Promise<Outcome> | undefined;

export type Invocations = {
  readonly operations: AnyOperations;
  /** Until this call, each invocation is answered with an error. */
  readonly start: (invoke: Invoke) => void;
};

/** The part of Lambda's API that invokes functions. */
export function createInvocations(): Invocations {
  let invoke: Invoke = () => undefined;
  return {
    operations: {
      "POST /2015-03-31/functions/{FunctionName}/invocations": {
        async reply({ parameters: { FunctionName = "" }, headers, body }) {
          const type = headers["x-amz-invocation-type"] ?? "RequestResponse";
          if (type !== "Event" && type !== "RequestResponse") {
            const message = `InvocationType must be Event or RequestResponse, is ${type}: the local stack plays no other invocations`;
            throw new AwsError("InvalidParameterValueException", 400, message);
          }
          const outcome = invoke(FunctionName, body);
          if (outcome === undefined)
            throw new AwsError("ResourceNotFoundException", 404, `there is no function ${FunctionName}`);
          return type === "Event" ? { status: 202, body: "" } : replyOf(await outcome);
        },
      },
    },
    start: (started) => {
      invoke = started;
    },
  };
}

/** As Lambda answers a caller who waits. */
function replyOf(outcome: Outcome): Reply {
  if (outcome.outcome === "returned") return { status: 200, body: outcome.payload };
  const { errorType, errorMessage } = outcome.error;
  const headers = { "x-amz-function-error": "Unhandled" };
  return { status: 200, headers, body: JSON.stringify({ errorType, errorMessage }) };
}
