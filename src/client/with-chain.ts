import { chainHere } from "../environment/process.ts";
import type { Transport } from "./call.ts";

/** Makes calls from inside a handler name the chain of the handler's job, which the API's guard against runaway jobs counts. */
export function withChain(transport: Transport): Transport {
  return (request, carrying) => {
    const chain = chainHere();
    if (chain === undefined) return transport(request, carrying);
    return transport({ ...request, headers: { ...request.headers, "minutehand-chain": chain } }, carrying);
  };
}
