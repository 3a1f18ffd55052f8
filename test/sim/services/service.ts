/** What goes with a call beside its input, and what may go wrong inside it though it is answered. */
export type Trouble = {
  /** The code that one entry of a batch fails with, if it does: asked once for each. `item`: the sort key that it writes. */
  entryFails(item?: string): string | undefined;
  /** How many invocations of functions in a chain led to the call. */
  readonly chain: number;
};

export const NO_TROUBLE: Trouble = { entryFails: () => undefined, chain: 0 };

/** One of AWS's services, as its SDK's commands reach it. */
export type Service = {
  /** Takes effect at once. What it throws is an exception as the SDK raises it. */
  perform(operation: string, input: object, trouble: Trouble): unknown;
};

/** An SDK's exception without a class of its own. */
export function problem(name: string, message: string, httpStatusCode = 400): Error {
  return Object.assign(new Error(message), { name, $metadata: { httpStatusCode } });
}
