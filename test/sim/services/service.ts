/** Data that goes with a call beside its input, and faults inside a call that is answered. */
export type Trouble = {
  /** The code with which one entry of a batch fails, if it fails. Called once for each entry. `item`: the sort key that it writes. */
  entryFails(item?: string, pk?: string): string | undefined;
  /** How many invocations of functions, one after another, led to the call. */
  readonly chain: number;
};

export const NO_TROUBLE: Trouble = { entryFails: () => undefined, chain: 0 };

/** A service of AWS, as the commands of its SDK call it. */
export type Service = {
  /** Carries out an operation at once. Throws the exceptions that the SDK would throw. */
  perform(operation: string, input: object, trouble: Trouble): unknown;
};

/** A service with these operations. `state`: what each of them works on. */
export function serviceOf<S>(
  operations: Readonly<Record<string, (state: S, input: never, trouble: Trouble) => unknown>>,
  state: S,
): Service {
  return {
    perform(operation, input, trouble) {
      const run = operations[operation];
      if (!run) throw new Error(`no such operation here: ${operation}`);
      return run(state, input as never, trouble);
    },
  };
}

/** An SDK's exception without a class of its own. */
export function problem(name: string, message: string, httpStatusCode = 400): Error {
  return Object.assign(new Error(message), { name, $metadata: { httpStatusCode } });
}
