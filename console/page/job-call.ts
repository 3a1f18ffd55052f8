import type { About } from "../about.ts";
import { jsonText } from "./direction.ts";

export type NewJob = { readonly topic: string; readonly body: unknown } & Readonly<Record<string, unknown>>;

/** Contains no secrets: it names environment variables, and the shell inserts their values. */
export function curlText(job: NewJob, url: string, auth: About["auth"]): string {
  const lines = [`curl ${quoted(`${url}/jobs`)}`, ...authLines(url, auth), `-d ${quoted(jsonText(job))}`];
  return lines.join(" \\\n  ");
}

function authLines(url: string, auth: About["auth"]): string[] {
  if (auth === "bearer") return ['-H "authorization: Bearer $MINUTEHAND_TOKEN"'];
  if (auth === "none") return [];
  const region = /\.execute-api\.([a-z0-9-]+)\./.exec(url)?.[1] ?? "$AWS_REGION";
  return [
    `--aws-sigv4 "aws:amz:${region}:execute-api"`,
    '--user "$AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY"',
    '-H "x-amz-security-token: $AWS_SESSION_TOKEN"',
  ];
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

export function typescriptText(
  { topic, body, ...options }: NewJob,
  url: string,
  auth: About["auth"],
): string {
  const authText = {
    none: "",
    iam: ', auth: "iam"',
    bearer: ', auth: { bearer: process.env.MINUTEHAND_TOKEN ?? "" }',
  }[auth];
  return `import { createClient } from "minutehand/client";

const client = createClient({ url: ${JSON.stringify(url)}${authText} });
await client.enqueue(${[topic, body, options].map((value) => valueText(value)).join(", ")});
`;
}

/** Writes a value as a TypeScript expression. JSON is one, except that `__proto__` in a literal would set the prototype. */
function valueText(value: unknown): string {
  return jsonText(value, 2).replace(/"__proto__":/g, '["__proto__"]:');
}
