import type { App } from "../../src/http/app.ts";
import type { Bindings } from "../../src/http/route.ts";

export async function fetchApp(app: App, request: Request, bindings?: Bindings): Promise<Response> {
  const { pathname, search } = new URL(request.url);
  const { status, headers, body } = await app(
    {
      method: request.method,
      path: pathname,
      query: search.slice(1),
      headers: Object.fromEntries(request.headers),
      body: new Uint8Array(await request.arrayBuffer()),
      signal: request.signal,
    },
    bindings,
  );
  return new Response(body, { status, headers });
}
