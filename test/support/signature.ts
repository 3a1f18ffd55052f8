import { createHash, createHmac } from "node:crypto";

export type SignedCall = {
  readonly method: string;
  readonly path: string;
  /** The sorted query string, without `?`. */
  readonly query: string;
  readonly host: string;
  readonly headers: Headers;
  readonly body: string;
};

const sha = (text: string) => createHash("sha256").update(text).digest("hex");
const hmac = (key: string | Buffer, text: string) => createHmac("sha256", key).update(text).digest();

/** Calculates the signature of a call of API Gateway, by "Create a signed AWS API request" in the IAM User Guide. */
export function signatureOf(
  { method, path, query, host, headers, body }: SignedCall,
  { secretAccessKey, region }: { secretAccessKey: string; region: string },
): string {
  const authorization = headers.get("authorization") ?? "";
  const [, names = ""] = /SignedHeaders=([^,]+)/.exec(authorization) ?? [];
  const date = headers.get("x-amz-date") ?? "";
  const lines = names.split(";").map((name) => {
    const value = name === "host" ? host : (headers.get(name) ?? "");
    return `${name}:${value.trim().replace(/ +/g, " ")}\n`;
  });
  const twice = path.split("/").map(encodeURIComponent).join("/");
  const canonical = [method, twice, query, lines.join(""), names, sha(body)].join("\n");
  const scope = `${date.slice(0, 8)}/${region}/execute-api/aws4_request`;
  const key = scope.split("/").reduce<string | Buffer>(hmac, `AWS4${secretAccessKey}`);
  return hmac(key, ["AWS4-HMAC-SHA256", date, scope, sha(canonical)].join("\n")).toString("hex");
}
