/** What may go wrong inside a call that is answered: asked once for each entry of a batch. */
export type Trouble = {
  /** The code that one entry fails with, if it does. */
  entryFails(): string | undefined;
};

export const NO_TROUBLE: Trouble = { entryFails: () => undefined };

/** One of AWS's services, as its SDK's commands reach it. */
export type Service = {
  /** Takes effect at once. What it throws is an exception as the SDK raises it. */
  perform(operation: string, input: object, trouble: Trouble): unknown;
};

/** An SDK's exception without a class of its own. */
export function problem(name: string, message: string, httpStatusCode = 400): Error {
  return Object.assign(new Error(message), { name, $metadata: { httpStatusCode } });
}
