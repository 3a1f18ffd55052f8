import { describe, expect, test } from "vitest";
import { routes } from "../../http/route-table.ts";
import {
  productionTemplate,
  type Resource,
  resourcesOf,
  type StackTemplate,
} from "../infra/stack-template.ts";

const template = productionTemplate();

type Statement = { Effect: string; Principal?: unknown; Action: unknown; Resource?: unknown };

/** What would let somebody in without IAM's say, in words; empty is good. */
function openings(of: StackTemplate): string[] {
  const found: string[] = [];
  const look = (type: string, hole: (properties: Record<string, unknown>, id: string) => unknown) => {
    for (const [id, { Properties }] of resourcesOf(of, type))
      if (hole(Properties, id)) found.push(`${type} ${id}`);
  };
  look("AWS::ApiGatewayV2::Route", ({ AuthorizationType }) => AuthorizationType !== "AWS_IAM");
  // A preflight is answered before anybody is asked who they are.
  look(
    "AWS::ApiGatewayV2::Api",
    ({ CorsConfiguration, ProtocolType }) => CorsConfiguration || ProtocolType !== "HTTP",
  );
  look("AWS::ApiGatewayV2::Authorizer", () => true);
  look("AWS::ApiGateway::RestApi", () => true);
  look("AWS::Lambda::Url", () => true);
  look("AWS::Lambda::Permission", ({ Principal, SourceArn, FunctionUrlAuthType }) => {
    const service = ["apigateway.amazonaws.com", "events.amazonaws.com"].includes(String(Principal));
    return !service || SourceArn === undefined || FunctionUrlAuthType !== undefined;
  });
  look("AWS::DynamoDB::Table", ({ ResourcePolicy }) => ResourcePolicy !== undefined);
  look("AWS::SQS::QueuePolicy", (properties) =>
    statementsOf(properties).some(({ Effect, Principal }) => Effect === "Allow" && !isService(Principal)),
  );
  look("AWS::IAM::Role", ({ AssumeRolePolicyDocument }) =>
    (AssumeRolePolicyDocument as { Statement: Statement[] }).Statement.some(
      ({ Effect, Principal }) => Effect === "Allow" && !isService(Principal),
    ),
  );
  for (const type of ["AWS::IAM::User", "AWS::IAM::AccessKey", "AWS::SQS::QueueInlinePolicy"])
    look(type, () => true);
  return found;
}

function statementsOf({ PolicyDocument }: Record<string, unknown>): Statement[] {
  return (PolicyDocument as { Statement: Statement[] }).Statement;
}

/** A service of AWS's, by name: `{ Service: "events.amazonaws.com" }`. */
function isService(principal: unknown): boolean {
  return typeof principal === "object" && principal !== null && Object.keys(principal).join() === "Service";
}

test("nobody comes in unsigned", () => {
  expect(openings(template)).toEqual([]);
});

const first = (of: StackTemplate, type: string): Resource => {
  const [, resource] = resourcesOf(of, type)[0] ?? [];
  if (!resource) throw new Error(`the template has no ${type}`);
  return resource;
};
const policy = (Principal: unknown) => ({
  Statement: [{ Effect: "Allow", Principal, Action: "sqs:SendMessage" }],
});
const HOLES: [string, (of: StackTemplate) => void][] = [
  [
    "a route without authorization",
    (of) => Object.assign(first(of, "AWS::ApiGatewayV2::Route").Properties, { AuthorizationType: "NONE" }),
  ],
  [
    "a route that says nothing of it",
    (of) => delete first(of, "AWS::ApiGatewayV2::Route").Properties.AuthorizationType,
  ],
  ["CORS", (of) => Object.assign(first(of, "AWS::ApiGatewayV2::Api").Properties, { CorsConfiguration: {} })],
  [
    "a function URL",
    (of) => Object.assign(of.Resources, { Url: { Type: "AWS::Lambda::Url", Properties: {} } }),
  ],
  [
    "a function that anyone may call",
    (of) => Object.assign(first(of, "AWS::Lambda::Permission").Properties, { Principal: "*" }),
  ],
  [
    "a function that any API may call",
    (of) => delete first(of, "AWS::Lambda::Permission").Properties.SourceArn,
  ],
  [
    "a queue that anyone may send to",
    (of) => Object.assign(first(of, "AWS::SQS::QueuePolicy").Properties, { PolicyDocument: policy("*") }),
  ],
  [
    "a queue of another account's",
    (of) =>
      Object.assign(first(of, "AWS::SQS::QueuePolicy").Properties, {
        PolicyDocument: policy({ AWS: "123456789012" }),
      }),
  ],
  [
    "a role that anyone may take",
    (of) =>
      Object.assign(first(of, "AWS::IAM::Role").Properties, {
        AssumeRolePolicyDocument: policy({ AWS: "*" }),
      }),
  ],
  [
    "a table with a policy of its own",
    (of) => Object.assign(first(of, "AWS::DynamoDB::Table").Properties, { ResourcePolicy: {} }),
  ],
];
test.each(HOLES)("%s would be noticed", (_, dig) => {
  const open = structuredClone(template);
  dig(open);
  expect(openings(open)).toHaveLength(1);
});

describe("API Gateway", () => {
  const keys = resourcesOf(template, "AWS::ApiGatewayV2::Route").map(([, r]) =>
    String(r.Properties.RouteKey),
  );

  test("has no default route, and one that asks IAM for each call, /health and /openapi.json too", () => {
    expect(keys).not.toContain("$default");
    const patterns = keys.map((key) => {
      const [method = "", path = ""] = key.split(" ");
      const pattern = path.replace(/\{proxy\+\}/, ".+").replace(/\{\w+\}/g, "[^/]+");
      return new RegExp(`^${method === "ANY" ? "[A-Z]+" : method} ${pattern}$`);
    });
    for (const { method, path } of routes) {
      const call = `${method} ${path.replace(/\{\w+\}/g, "x")}`;
      expect({ call, served: patterns.some((pattern) => pattern.test(call)) }).toMatchObject({
        served: true,
      });
    }
    expect(routes.map(({ path }) => path)).toEqual(expect.arrayContaining(["/health", "/openapi.json"]));
  });

  test("logs who called which route, never a path, which may hold keys, nor a query, header or body", () => {
    const { AccessLogSettings } = first(template, "AWS::ApiGatewayV2::Stage").Properties;
    const { Format } = AccessLogSettings as { Format: string };
    const variables = Format.match(/\$context\.[\w.]+/g) ?? [];
    expect(variables).toContain("$context.identity.caller");
    // Of an HTTP API the resource path is a route such as /{proxy+}, or nothing.
    const allowed =
      /^\$context\.(identity\.(sourceIp|caller|user)|requestTime|httpMethod|resourcePath|routeKey|protocol|status|responseLength|requestId)$/;
    expect(variables.filter((variable) => !allowed.test(variable))).toEqual([]);
  });
});

test("no function's environment holds a secret", () => {
  const names = resourcesOf(template, "AWS::Lambda::Function").flatMap(([, { Properties }]) =>
    Object.keys((Properties.Environment as { Variables: object }).Variables),
  );
  expect([...new Set(names)].sort()).toEqual([
    "MINUTEHAND_POLICY",
    "MINUTEHAND_QUEUE_URL_PREFIX",
    "MINUTEHAND_TABLE",
    "POWERTOOLS_LOG_LEVEL",
    "POWERTOOLS_METRICS_NAMESPACE",
    "POWERTOOLS_SERVICE_NAME",
  ]);
});
