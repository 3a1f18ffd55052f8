import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { apiOf } from "../e2e/api.ts";
import { deployedTarget } from "../e2e/deployed-stack.ts";

const TEMPLATE = {
  Resources: {
    ConsumerremindersLog77F1E114: { Type: "AWS::Logs::LogGroup" },
    JobsTickSweeperFunction52F8: { Type: "AWS::Lambda::Function" },
    JobsPromotionsPromoteFunction60D3: { Type: "AWS::Lambda::Function" },
    JobsPromotionsSchedulesGroup53FA: { Type: "AWS::Scheduler::ScheduleGroup" },
    JobsPromotionsSchedulesRole923A: { Type: "AWS::IAM::Role" },
    JobsWebhookcallbacksSecret311E: { Type: "AWS::SecretsManager::Secret" },
  },
};
const VARIABLES = { MINUTEHAND_TABLE: "t", MINUTEHAND_EVENT_SOURCES: "{}" };

/** One server plays CloudFormation, Lambda and the HTTP API of an account. It answers only the calls that `--stack` makes. */
describe("a stack in an account", () => {
  let server: Server;
  let url: string;
  let outputs: Record<string, string>;
  const calls: IncomingMessage[] = [];

  beforeAll(async () => {
    server = createServer(async (request, response) => {
      let text = "";
      for await (const chunk of request) text += chunk;
      const [, name] = /^\/2015-03-31\/functions\/(.*)\/configuration$/.exec(request.url ?? "") ?? [];
      if (name !== undefined) {
        response.writeHead(200, { "content-type": "application/json" }).end(
          JSON.stringify({
            FunctionArn: `arn:aws:lambda:eu-central-1:1:function:${decodeURIComponent(name)}`,
            Environment: { Variables: VARIABLES },
          }),
        );
        return;
      }
      if (request.url !== "/") {
        calls.push(request);
        response.writeHead(request.headers.authorization ? 200 : 403).end("{}");
        return;
      }
      const { Action = "", ...parameters } = Object.fromEntries(new URLSearchParams(text));
      const { status, result } = answerTo(Action, parameters, outputs);
      response.writeHead(status, { "content-type": "text/xml" }).end(result);
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    vi.stubEnv("AWS_ENDPOINT_URL_CLOUDFORMATION", url);
    vi.stubEnv("AWS_ENDPOINT_URL_LAMBDA", url);
    vi.stubEnv("AWS_REGION", "eu-central-1");
    vi.stubEnv("AWS_ACCESS_KEY_ID", "AKIAEXAMPLE");
    vi.stubEnv("AWS_SECRET_ACCESS_KEY", "secret");
    vi.stubEnv("AWS_SESSION_TOKEN", "session");
  });
  afterEach(() => {
    calls.length = 0;
  });
  afterAll(() => {
    vi.unstubAllEnvs();
    server.close();
  });

  it("gets calls at the URL of its API, signed for its region with the credentials of the environment", async () => {
    outputs = { ApiUrl: url, TableName: "t", QueueUrlPrefix: "https://sqs/1/shop-" };
    const target = await deployedTarget("aws", "Shop");
    expect(target).toEqual({
      place: "aws",
      api: { url, signedFor: "eu-central-1" },
      log: { group: "physical-ConsumerremindersLog77F1E114" },
      promotions: "physical-JobsPromotionsSchedulesGroup53FA",
      secret: "physical-JobsWebhookcallbacksSecret311E",
    });
    await apiOf(target).call("PUT", "/topics/work/jobs/a%2Bb", { delay: 1, body: null });
    const [{ method, url: path, headers } = {} as IncomingMessage] = calls;
    expect([method, path]).toEqual(["PUT", "/topics/work/jobs/a%2Bb"]);
    expect(headers).toMatchObject({ "x-amz-security-token": "session", "x-amz-date": expect.any(String) });
    expect(headers.authorization).toMatch(
      /^AWS4-HMAC-SHA256 Credential=AKIAEXAMPLE\/\d{8}\/eu-central-1\/execute-api\/aws4_request, SignedHeaders=host;/,
    );
  });

  it("without an HTTP API gives the suite's own app the environment of the tick, and the settings of far jobs' schedules", async () => {
    outputs = { TableName: "t", QueueUrlPrefix: "https://sqs/1/shop-" };
    const { api } = await deployedTarget("aws", "Shop");
    expect(api).toEqual({ environment: { ...VARIABLES, MINUTEHAND_PROMOTIONS: expect.any(String) } });
    expect(JSON.parse("environment" in api ? (api.environment.MINUTEHAND_PROMOTIONS ?? "") : "")).toEqual({
      group: "physical-JobsPromotionsSchedulesGroup53FA",
      target: "arn:aws:lambda:eu-central-1:1:function:physical-JobsPromotionsPromoteFunction60D3",
      role: "arn:aws:iam::1:role/physical-JobsPromotionsSchedulesRole923A",
    });
  });

  it("is refused if it belongs to another app, with the outputs that it lacks", async () => {
    outputs = { BucketName: "b" };
    await expect(deployedTarget("aws", "Shop")).rejects.toThrow(
      "stack Shop must have the outputs TableName and QueueUrlPrefix, has BucketName",
    );
  });

  it("is refused by CloudFormation if it does not exist", async () => {
    await expect(deployedTarget("aws", "Shopp")).rejects.toThrow("Stack with id Shopp does not exist");
  });
});

function answerTo(action: string, parameters: Record<string, string>, outputs: Record<string, string>) {
  const { StackName: stack, LogicalResourceId: id } = parameters;
  const wrap = (result: string) => ({
    status: 200,
    result: `<${action}Response><${action}Result>${result}</${action}Result></${action}Response>`,
  });
  if (stack !== "Shop") {
    const message = `Stack with id ${stack} does not exist`;
    const error = `<Error><Type>Sender</Type><Code>ValidationError</Code><Message>${message}</Message></Error>`;
    return { status: 400, result: `<ErrorResponse>${error}</ErrorResponse>` };
  }
  if (action === "GetTemplate") return wrap(`<TemplateBody>${JSON.stringify(TEMPLATE)}</TemplateBody>`);
  if (action === "DescribeStackResource") {
    const physical = `<PhysicalResourceId>physical-${id}</PhysicalResourceId>`;
    return wrap(`<StackResourceDetail>${physical}</StackResourceDetail>`);
  }
  const members = Object.entries(outputs).map(
    ([key, value]) => `<member><OutputKey>${key}</OutputKey><OutputValue>${value}</OutputValue></member>`,
  );
  return wrap(`<Stacks><member><Outputs>${members.join("")}</Outputs></member></Stacks>`);
}
