/**
 * Makes a function that calls `make` when it is called for the first time, and answers the same promise each time.
 *
 * @example
 * const client = onFirstUse(async () => (await import("./large-client.ts")).createClient());
 * await (await client()).send(request);
 */
export function onFirstUse<Made>(make: () => Promise<Made>): () => Promise<Made> {
  let made: Promise<Made> | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
