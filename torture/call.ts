/** What the API said; `undefined`: nothing that could be heard, so nobody knows what took place. */
export type Heard = { readonly status: number; readonly body: unknown } | undefined;

/** Longer than the SDK's own patience with a service, shorter than the API function's timeout. */
const PATIENCE_MS = 15_000;

export async function call(
  base: string,
  method: string,
  path: string,
  body?: object,
  headers: Record<string, string> = {},
): Promise<Heard> {
  try {
    const response = await fetch(base + path, {
      method,
      headers: { "content-type": "application/json", ...headers },
      signal: AbortSignal.timeout(PATIENCE_MS),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: await response.json() };
  } catch {
    return undefined;
  }
}
