import {
  InvokeCommand,
  type InvokeCommandOutput,
  type LambdaClient,
  TooManyRequestsException,
} from "@aws-sdk/client-lambda";

/** `functionError`: the function has failed, and `payload` says how. `throttled`: Lambda did not start the function, as too many run. */
export type Invoked =
  | { readonly payload: Uint8Array; readonly functionError?: string }
  | { readonly throttled: string };

/** Invokes the function and waits for its answer. Throws if no answer came, or `signal` was aborted. */
export type Invoke = (payload: string, signal: AbortSignal) => Promise<Invoked>;

/** `client`: a `waitingClient`. */
export function lambdaInvoke(client: LambdaClient, functionArn: string): Invoke {
  return async (payload, signal) => {
    const input = { FunctionName: functionArn, InvocationType: "RequestResponse", Payload: payload } as const;
    try {
      return invokedOf(await client.send(new InvokeCommand(input), { abortSignal: signal }));
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      if (error instanceof TooManyRequestsException) return { throttled: error.message };
      throw error;
    }
  };
}

function invokedOf({ Payload, FunctionError }: InvokeCommandOutput): Invoked {
  return {
    payload: Payload ?? new Uint8Array(),
    ...(FunctionError !== undefined && { functionError: FunctionError }),
  };
}
