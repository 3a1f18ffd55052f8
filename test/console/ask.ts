import { request } from "node:http";

export type Asked = {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
};

export type Answered = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
  readonly text: string;
};

/**
 * Sends a request as it is written here. `fetch` would normalise the path, and allows neither `Host` nor `Sec-Fetch-Site`. Finds a name under
 * `localhost` as a browser does.
 */
export function ask(base: string, path: string, { method = "GET", headers = {}, body }: Asked = {}) {
  const { hostname: name, host, port } = new URL(base);
  const hostname = name.endsWith(".localhost") ? "127.0.0.1" : name;
  const { promise, resolve, reject } = Promise.withResolvers<Answered>();
  const asked = request({ hostname, port, path, method, headers: { host, ...headers }, agent: false });
  asked.on("error", reject);
  asked.on("response", (response) => {
    const chunks: Buffer[] = [];
    response.on("error", reject);
    response.on("data", (chunk: Buffer) => chunks.push(chunk));
    response.on("end", () => {
      const whole = Buffer.concat(chunks);
      resolve({
        status: response.statusCode ?? 0,
        headers: response.headers,
        body: whole,
        text: whole.toString(),
      });
    });
  });
  asked.end(body);
  return promise;
}
