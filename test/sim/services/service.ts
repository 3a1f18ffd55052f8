export type Trouble = {
  /** The code with which one entry of a batch fails, if it fails. Called once for each entry. `item`: the sort key that it writes. */
  entryFails(item?: string, pk?: string): string | undefined;
  readonly chain: number;
};

export const NO_TROUBLE: Trouble = { entryFails: () => undefined, chain: 0 };

export type Service = {
  /** Carries out an operation at once. Throws the exceptions that the SDK would throw. */
  perform(operation: string, input: object, trouble: Trouble): unknown;
};

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

export function problem(name: string, message: string, httpStatusCode = 400): Error {
  return Object.assign(new Error(message), { name, $metadata: { httpStatusCode } });
}
