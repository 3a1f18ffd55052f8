import { App, Stack } from "aws-cdk-lib";
import { HttpNoneAuthorizer, type IHttpRouteAuthorizer } from "aws-cdk-lib/aws-apigatewayv2";
import {
  HttpJwtAuthorizer,
  HttpLambdaAuthorizer,
  HttpLambdaResponseType,
  HttpUserPoolAuthorizer,
} from "aws-cdk-lib/aws-apigatewayv2-authorizers";
import { UserPool } from "aws-cdk-lib/aws-cognito";
import { AwsSolutionsChecks } from "cdk-nag";
import { describe, expect, test } from "vitest";
import { DelayQueue } from "../../infra/delay-queue.ts";
import type { ApiProps } from "../../infra/props.ts";
import { matchRoute, parseRoute } from "../../local/functions/routes.ts";
import { routes } from "../../src/http/route-table.ts";
import { resourcesOf } from "./resources.ts";
import { someFunction, templateOf } from "./shop-stack.ts";

const SCOPES = { read: ["jobs/read"], write: ["jobs/write", "jobs/admin"], operate: ["jobs/admin"] };

type MakeAuthorizer = (stack: Stack) => IHttpRouteAuthorizer;

const jwt: MakeAuthorizer = () =>
  new HttpJwtAuthorizer("Login", "https://login.example.com", { jwtAudience: ["jobs"] });
const lambda: MakeAuthorizer = (stack) =>
  new HttpLambdaAuthorizer("Login", someFunction(stack, "Ask"), {
    responseTypes: [HttpLambdaResponseType.SIMPLE],
  });

function shopBehind(authorizer: MakeAuthorizer, api: ApiProps = {}) {
  const app = new App();
  const stack = new Stack(app, "Shop");
  const topics = { orders: {}, work: { consumer: "pull" as const } };
  const queue = new DelayQueue(stack, "Jobs", { topics, api: { ...api, authorizer: authorizer(stack) } });
  return { app, stack, queue };
}

function routesIn(stack: Stack) {
  return resourcesOf(templateOf(stack), "AWS::ApiGatewayV2::Route").map(([, { Properties }]) => Properties);
}

describe("an authorizer of the user's own", () => {
  test.each([
    ["HttpJwtAuthorizer", jwt, "JWT"],
    [
      "HttpUserPoolAuthorizer",
      (stack: Stack) => new HttpUserPoolAuthorizer("Login", new UserPool(stack, "Pool")),
      "JWT",
    ],
    ["HttpLambdaAuthorizer", lambda, "CUSTOM"],
  ])("%s authorizes every route in place of IAM", (_, authorizer, type) => {
    const { stack } = shopBehind(authorizer);
    const [[id = ""] = [], ...others] = resourcesOf(templateOf(stack), "AWS::ApiGatewayV2::Authorizer");
    expect(others).toEqual([]);
    const authorized = { AuthorizationType: type, AuthorizerId: { Ref: id } };
    expect(routesIn(stack)).toEqual([
      expect.objectContaining({ RouteKey: "ANY /", ...authorized }),
      expect.objectContaining({ RouteKey: "ANY /{proxy+}", ...authorized }),
      expect.objectContaining({ RouteKey: "POST /topics/{topic}/receive", ...authorized }),
    ]);
  });

  test("lets only API Gateway call the functions, and cdk-nag finds nothing", () => {
    const { app, stack, queue } = shopBehind(jwt, { scopes: SCOPES });
    const permissions = resourcesOf(templateOf(stack), "AWS::Lambda::Permission").filter(
      ([, { Properties }]) => Properties.Principal === "apigateway.amazonaws.com",
    );
    expect(permissions).toHaveLength(2);
    for (const [, { Properties }] of permissions) expect(Properties).toHaveProperty("SourceArn");
    expect(new AwsSolutionsChecks(app).validateScope(queue).violations).toEqual([]);
  });

  test("leaves CORS as it is: there is none", () => {
    const { stack } = shopBehind(jwt, { scopes: SCOPES });
    const [[, api] = []] = resourcesOf(templateOf(stack), "AWS::ApiGatewayV2::Api");
    expect(api?.Properties).not.toHaveProperty("CorsConfiguration");
  });

  test("is refused if it lets everybody in", () => {
    expect(() => shopBehind(() => new HttpNoneAuthorizer())).toThrow(
      'DelayQueue Shop/Jobs has invalid props:\n  api.authorizer must authorize callers, is "NONE"; allowed: "JWT", "CUSTOM" or "AWS_IAM"',
    );
  });

  test("is refused with scopes if it does not read scopes of tokens", () => {
    expect(() => shopBehind(lambda, { scopes: SCOPES })).toThrow(
      'api.scopes needs an authorizer that reads the scopes of tokens, is "CUSTOM"; allowed: "JWT"',
    );
  });
});

/** Each call of the API, by the group whose scopes it needs. Reads are all calls with GET. */
const GROUPS: Readonly<Record<string, readonly string[]>> = {
  write: [
    ...["enqueue", "enqueueMany", "cancelMany", "reschedule", "cancel", "putJobByKey", "cancelByKey"],
    ...["receive", "finish", "extend", "retry", "bury"],
  ],
  operate: [
    ...["bulk", "pauseTopic", "resumeTopic", "redrive", "putSchedule", "deleteSchedule", "pauseSchedule"],
    ...["resumeSchedule", "runSchedule", "erase", "dismiss"],
  ],
};

describe("scopes", () => {
  const { stack } = shopBehind(jwt, { scopes: SCOPES });
  const known = routesIn(stack).map(({ RouteKey, AuthorizationScopes }) =>
    parseRoute(String(RouteKey), AuthorizationScopes),
  );
  const scopesOf = (method: string, path: string) => matchRoute(known, method, path)?.route.target;

  test("are those of the call's group, for every call of the API", () => {
    const found = routes.map(({ operationId, method, path }) => [
      operationId,
      scopesOf(method, path.replaceAll(/[{}]/g, "")),
    ]);
    const expected = routes.map(({ operationId, method }) => {
      const [group] = Object.entries(GROUPS).find(([, calls]) => calls.includes(operationId)) ?? [];
      return [operationId, method === "GET" ? SCOPES.read : SCOPES[group as "write" | "operate"]];
    });
    expect(found).toEqual(expected);
  });

  test("of operators are needed for a path that no other route has, however it is written", () => {
    for (const path of ["/", "/jobs/%62ulk", "/topics/orders/%70ause", "/jobs/", "//jobs", "/schedules/x"])
      expect(scopesOf("POST", path), path).toEqual(SCOPES.operate);
    expect(scopesOf("HEAD", "/jobs")).toEqual(SCOPES.read);
    expect(scopesOf("OPTIONS", "/jobs")).toEqual(SCOPES.operate);
  });

  test("give `receive` to its own function, and everything else to the other", () => {
    const targets = new Set(routesIn(stack).map(({ Target }) => JSON.stringify(Target)));
    expect(targets.size).toBe(2);
    const toReceive = routesIn(stack).filter(({ Target }) => /ToReceive/.test(JSON.stringify(Target)));
    expect(toReceive.map(({ RouteKey }) => RouteKey)).toEqual(["POST /topics/{topic}/receive"]);
  });
});
