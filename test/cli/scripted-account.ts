import { vi } from "vitest";
import { startReceiver } from "../support/receiver.ts";

type Output = { key: string; value: string; description?: string };

/** What an AWS account answers. It refuses calls for what is absent here. */
export type Account = {
  arn?: string;
  stacks?: Record<string, { status: string; outputs: Output[]; template?: object }>;
  concurrency?: number;
  /** The warm throughput of each table. A call of UpdateTable raises it. */
  tables?: Record<string, { read: number; write: number }>;
};

type Scripted = AsyncDisposable & { readonly regions: (string | undefined)[] };

/** Plays STS, CloudFormation and Lambda of an account. Until it is disposed, environment variables lead the SDK to it. */
export async function scriptAccount(account: Account): Promise<Scripted> {
  const receiver = await startReceiver(({ url }, response) => {
    const { body: sent = "", headers = {} } = receiver.received.at(-1) ?? {};
    const asked = new URLSearchParams(sent);
    const { status, body } = url?.includes("account-settings")
      ? settingsOf(account)
      : headers["x-amz-target"]?.includes("DynamoDB")
        ? tableOf(account, JSON.parse(sent))
        : answerOf(account, asked.get("Action"), asked.get("StackName") ?? "");
    response.writeHead(status).end(body);
  });
  const endpoint = `http://127.0.0.1:${receiver.port}`;
  for (const service of ["STS", "CLOUDFORMATION", "LAMBDA", "DYNAMODB"])
    vi.stubEnv(`AWS_ENDPOINT_URL_${service}`, endpoint);
  vi.stubEnv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE");
  vi.stubEnv("AWS_SECRET_ACCESS_KEY", "secret");
  vi.stubEnv("AWS_REGION", "eu-west-1");
  return {
    get regions() {
      return receiver.received.map(({ headers }) => regionOf(headers.authorization ?? ""));
    },
    async [Symbol.asyncDispose]() {
      vi.unstubAllEnvs();
      await receiver[Symbol.asyncDispose]();
    },
  };
}

function regionOf(authorization: string): string | undefined {
  return /Credential=[^/]+\/\d+\/([^/]+)/.exec(authorization)?.[1];
}

function settingsOf({ concurrency }: Account): { status: number; body: string } {
  if (concurrency === undefined) return { status: 403, body: JSON.stringify({ message: "not authorized" }) };
  const AccountLimit = { UnreservedConcurrentExecutions: concurrency };
  return { status: 200, body: JSON.stringify({ AccountLimit }) };
}

type Asked = {
  TableName: string;
  WarmThroughput?: { ReadUnitsPerSecond?: number; WriteUnitsPerSecond?: number };
};

/** Like DynamoDB, refuses to lower a value. */
function tableOf({ tables = {} }: Account, { TableName, WarmThroughput = {} }: Asked) {
  const table = tables[TableName];
  const refusal = (message: string) => ({
    status: 400,
    body: JSON.stringify({ __type: "com.amazon.coral.validate#ValidationException", message }),
  });
  if (table === undefined) return refusal("not authorized");
  const { ReadUnitsPerSecond: read = table.read, WriteUnitsPerSecond: write = table.write } = WarmThroughput;
  if (read < table.read || write < table.write) return refusal("decreasing WarmThroughput is not supported");
  Object.assign(table, { read, write });
  const warm = { ReadUnitsPerSecond: read, WriteUnitsPerSecond: write };
  return { status: 200, body: JSON.stringify({ Table: { WarmThroughput: warm } }) };
}

function answerOf({ arn, stacks = {} }: Account, action: string | null, name: string) {
  if (action === "GetCallerIdentity") {
    return arn === undefined
      ? refused(403, "ExpiredToken", "the token has expired")
      : result(action, `<Arn>${arn}</Arn>`);
  }
  const stack = stacks[name];
  if (stack === undefined) return refused(400, "ValidationError", `Stack with id ${name} does not exist`);
  if (action === "GetTemplate") {
    return stack.template === undefined
      ? refused(403, "AccessDenied", "not authorized")
      : result(action, `<TemplateBody><![CDATA[${JSON.stringify(stack.template)}]]></TemplateBody>`);
  }
  const outputs = stack.outputs.map(
    ({ key, value, description }) =>
      `<member><OutputKey>${key}</OutputKey><OutputValue>${value}</OutputValue>${description ? `<Description>${description}</Description>` : ""}</member>`,
  );
  const member = `<StackName>${name}</StackName><CreationTime>2026-03-01T09:00:00Z</CreationTime><StackStatus>${stack.status}</StackStatus>`;
  return result(
    "DescribeStacks",
    `<Stacks><member>${member}<Outputs>${outputs.join("")}</Outputs></member></Stacks>`,
  );
}

function result(action: string, content: string) {
  return {
    status: 200,
    body: `<${action}Response><${action}Result>${content}</${action}Result></${action}Response>`,
  };
}

function refused(status: number, code: string, message: string) {
  const error = `<Type>Sender</Type><Code>${code}</Code><Message>${message}</Message>`;
  return { status, body: `<ErrorResponse><Error>${error}</Error></ErrorResponse>` };
}
