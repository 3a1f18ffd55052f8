/** The API's answer. `undefined`: no answer arrived, so that it is unknown whether the call took effect. */
export type Heard = { readonly status: number; readonly body: unknown } | undefined;

/** As long as the SDK waits for a silent service (three tries of 5 s), and shorter than the timeout of the API's function. */
const PATIENCE_MS = 15_000;

/** Calls the API once. Never throws. */
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
