import { readFileSync } from "node:fs";
import { type RequestOptions, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { setTimeout as sleep } from "node:timers/promises";
import { LocalError } from "../../local/local-error.ts";
import { PATIENCE_MS } from "../patience.ts";

const RETRY_MS = 250;
const ANSWER_MS = 30_000;

export async function waitHealthy(url: string, caFile?: string): Promise<string> {
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    const health = await healthAt(url, caFile);
    if (health !== undefined) return health;
    if (Date.now() > end) throw new LocalError(`${url} did not answer`);
    await sleep(RETRY_MS);
  }
}

/** The text of a health page, or `undefined` if it does not answer 200. `caFile`: the certificate to trust, which may not exist yet. */
export async function healthAt(url: string, caFile?: string): Promise<string | undefined> {
  try {
    const options = { timeout: ANSWER_MS, ...(caFile && { ca: readFileSync(caFile) }) };
    return await get(url, options);
  } catch {
    // The server is not up yet. A caller that waits throws an error after its own limit.
    return undefined;
  }
}

/** Does not use `fetch`, which trusts only the certificates that Node read when it started. This certificate is newer. */
function get(url: string, options: RequestOptions): Promise<string | undefined> {
  const request = url.startsWith("https:") ? requestHttps : requestHttp;
  return new Promise((resolve, reject) => {
    const sent = request(url, options, (answer) => {
      let text = "";
      answer.setEncoding("utf8");
      answer.on("data", (chunk: string) => (text += chunk));
      answer.once("end", () => resolve(answer.statusCode === 200 ? text : undefined));
      answer.once("error", reject);
    });
    sent.once("timeout", () => sent.destroy(new Error("no answer in time")));
    sent.once("error", reject);
    sent.end();
  });
}
