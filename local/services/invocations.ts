import type { Operations } from "./aws-endpoint.ts";
import { AwsError } from "./aws-error.ts";

/** Invokes a function by its name or ARN, without waiting for its end. `false`: the template has no such function. */
type Invoke = (nameOrArn: string, event: unknown) => boolean;

export type Invocations = {
  readonly operations: Operations;
  /** Until this call, each invocation is answered with an error. */
  readonly start: (invoke: Invoke) => void;
};

/** The part of Lambda's API that invokes functions asynchronously. */
export function createInvocations(): Invocations {
  let invoke: Invoke = () => false;
  return {
    operations: {
      "POST /2015-03-31/functions/{FunctionName}/invocations": {
        status: 202,
        answer({ parameters: { FunctionName = "" }, headers, body }) {
          const type = headers["x-amz-invocation-type"] ?? "RequestResponse";
          if (type !== "Event") {
            const message = `InvocationType must be Event, is ${type}: the local stack plays no other invocations`;
            throw new AwsError("InvalidParameterValueException", 400, message);
          }
          if (invoke(FunctionName, body)) return {};
          throw new AwsError("ResourceNotFoundException", 404, `there is no function ${FunctionName}`);
        },
      },
    },
    start: (started) => {
      invoke = started;
    },
  };
}
