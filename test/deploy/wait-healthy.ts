import { readFileSync } from "node:fs";
import { type RequestOptions, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { setTimeout as sleep } from "node:timers/promises";
import { LocalError } from "../../local/local-error.ts";

const RETRY_MS = 250;
const ANSWER_MS = 5000;

/** What a health page says once it answers 200. Throws `LocalError` after `ms`. */
export async function waitHealthy(url: string, ms: number, caFile?: string): Promise<string> {
  const end = Date.now() + ms;
  for (;;) {
    const health = await healthAt(url, caFile);
    if (health !== undefined) return health;
    if (Date.now() > end) throw new LocalError(`${url} did not answer within ${ms / 1000} s`);
    await sleep(RETRY_MS);
  }
}

/** What a health page says; `undefined` if nobody answers 200. `caFile`: whom to trust, once it is there. */
export async function healthAt(url: string, caFile?: string): Promise<string | undefined> {
  try {
    const options = { timeout: ANSWER_MS, ...(caFile && { ca: readFileSync(caFile) }) };
    return await get(url, options);
  } catch {
    // Not up yet; whoever waits says so in the end.
    return undefined;
  }
}

/** Not `fetch`: that trusts what Node was told when it began, and the certificate is newer. */
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
