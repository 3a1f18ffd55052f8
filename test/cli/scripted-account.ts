import { vi } from "vitest";
import { startReceiver } from "../support/receiver.ts";
import { answerOfTable, type ScriptedTable } from "./scripted-table.ts";

type Output = { key: string; value: string; description?: string };

type Stack = {
  status: string;
  outputs: Output[];
  /** A text is answered as it is, an object as JSON. */
  template?: object | string;
  tags?: Record<string, string>;
  /** Physical ids by logical ids. */
  resources?: Record<string, string>;
};

/** What an AWS account answers. It refuses calls for what is absent here. */
export type Account = {
  arn?: string;
  stacks?: Record<string, Stack>;
  concurrency?: number;
  /** The values of secrets by their ARNs. */
  secrets?: Record<string, string>;
  /** The tables by their names. Calls change them. */
  tables?: Record<string, ScriptedTable>;
  /** Answers the values of a metric of CloudWatch, by their times in ms since the epoch. */
  metrics?: (query: MetricQuery) => Record<number, number>;
  /** Changes an answer of CloudWatch. `token`: that of the asked page, empty for the first one. */
  metricsAnswer?: (answer: MetricsAnswer, token: string) => MetricsAnswer;
};

export type MetricQuery = {
  Id: string;
  MetricStat: {
    Metric: { Namespace: string; MetricName: string; Dimensions: { Name: string; Value: string }[] };
    Period: number;
    Stat: string;
  };
};

export type MetricsAnswer = {
  MetricDataResults: {
    Id: string;
    StatusCode: string;
    Timestamps: number[];
    Values: number[];
    Messages?: object[];
  }[];
  NextToken?: string;
};

type Scripted = AsyncDisposable & { readonly regions: (string | undefined)[] };

/** Plays STS, CloudFormation, CloudWatch, Lambda, DynamoDB and Secrets Manager of an account. Until it is disposed, environment variables lead the SDK to it. */
export async function scriptAccount(account: Account): Promise<Scripted> {
  const receiver = await startReceiver(({ url }, response) => {
    const { body: sent = "", headers = {} } = receiver.received.at(-1) ?? {};
    const asked = new URLSearchParams(sent);
    const target = `${headers["x-amz-target"]}`;
    const { status, body } = url?.includes("account-settings")
      ? settingsOf(account)
      : target.includes("DynamoDB")
        ? answerOfTable(account.tables ?? {}, target, JSON.parse(sent))
        : target.includes("secretsmanager")
          ? secretOf(account, JSON.parse(sent).SecretId)
          : target.includes("GetMetricData")
            ? metricsOf(account, JSON.parse(sent))
            : answerOf(account, asked);
    response.writeHead(status).end(body);
  });
  const endpoint = `http://127.0.0.1:${receiver.port}`;
  for (const service of ["STS", "CLOUDFORMATION", "CLOUDWATCH", "LAMBDA", "DYNAMODB", "SECRETS_MANAGER"])
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

function secretOf({ secrets = {} }: Account, arn: string): { status: number; body: string } {
  const SecretString = secrets[arn];
  if (SecretString === undefined) return { status: 400, body: JSON.stringify({ message: "not authorized" }) };
  return { status: 200, body: JSON.stringify({ SecretString }) };
}

type MetricsAsked = { MetricDataQueries: readonly MetricQuery[]; NextToken?: string };

function metricsOf(
  { metrics, metricsAnswer = (answer) => answer }: Account,
  { MetricDataQueries: queries, NextToken: token = "" }: MetricsAsked,
) {
  if (metrics === undefined) {
    const message = "User: arn:aws:iam::1:user/me is not authorized to perform: cloudwatch:GetMetricData";
    return { status: 400, body: JSON.stringify({ __type: "AccessDenied", message }) };
  }
  const MetricDataResults = queries.map((query) => {
    const values = Object.entries(metrics(query));
    const Timestamps = values.map(([at]) => Number(at) / 1000);
    return { Id: query.Id, StatusCode: "Complete", Timestamps, Values: values.map(([, value]) => value) };
  });
  return { status: 200, body: JSON.stringify(metricsAnswer({ MetricDataResults }, token)) };
}

function answerOf({ arn, stacks = {} }: Account, asked: URLSearchParams) {
  const action = asked.get("Action");
  const name = asked.get("StackName") ?? "";
  if (action === "GetCallerIdentity") {
    return arn === undefined
      ? refused(403, "ExpiredToken", "the token has expired")
      : result(action, `<Arn>${arn}</Arn>`);
  }
  const stack = stacks[name];
  if (stack === undefined) return refused(400, "ValidationError", `Stack with id ${name} does not exist`);
  if (action === "GetTemplate") {
    const { template } = stack;
    const text = typeof template === "string" ? template : JSON.stringify(template);
    return text === undefined
      ? refused(403, "AccessDenied", "not authorized")
      : result(action, `<TemplateBody><![CDATA[${text}]]></TemplateBody>`);
  }
  if (action === "DescribeStackResource") {
    const id = stack.resources?.[asked.get("LogicalResourceId") ?? ""];
    const detail = `<StackResourceDetail><PhysicalResourceId>${id}</PhysicalResourceId></StackResourceDetail>`;
    return result(action, detail);
  }
  const outputs = stack.outputs.map(
    ({ key, value, description }) =>
      `<member><OutputKey>${key}</OutputKey><OutputValue>${value}</OutputValue>${description ? `<Description>${description}</Description>` : ""}</member>`,
  );
  const member = `<StackName>${name}</StackName><CreationTime>2026-03-01T09:00:00Z</CreationTime><StackStatus>${stack.status}</StackStatus>`;
  const tags = Object.entries(stack.tags ?? {}).map(
    ([key, value]) => `<member><Key>${key}</Key><Value>${value}</Value></member>`,
  );
  return result(
    "DescribeStacks",
    `<Stacks><member>${member}<Outputs>${outputs.join("")}</Outputs><Tags>${tags.join("")}</Tags></member></Stacks>`,
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
