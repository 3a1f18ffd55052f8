import { Agent, request } from "node:http";

/** Posts JSON over kept connections, and answers the response's body. Throws if the status is not 2xx. */
export type Post = (path: string, body: unknown) => Promise<string>;

/** Makes a client of the HTTP API at `base` that uses as little CPU time as Node allows: it shares the machine with the API. */
export function httpClient(base: string, connections: number): Post {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const { hostname, port } = new URL(base);
  return (path, body) =>
    new Promise((resolve, reject) => {
      const text = JSON.stringify(body);
      const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(text) };
      const call = request({ agent, hostname, port, path, method: "POST", headers }, (response) => {
        let answer = "";
        response.setEncoding("utf8");
        response.on("data", (chunk: string) => {
          answer += chunk;
        });
        response.on("end", () => {
          const { statusCode = 0 } = response;
          if (statusCode >= 200 && statusCode < 300) resolve(answer);
          else reject(new Error(`POST ${path} answered ${statusCode}: ${answer}`));
        });
      });
      call.on("error", reject);
      call.end(text);
    });
}
