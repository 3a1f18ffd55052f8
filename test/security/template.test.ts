import { isDeepStrictEqual } from "node:util";
import { describe, expect, test } from "vitest";
import { routes } from "../../src/http/route-table.ts";
import { policiesOf, type Resource, resourcesOf, type StackTemplate } from "../infra/resources.ts";
import { productionTemplate } from "../infra/stack-template.ts";

const template = productionTemplate();

type Statement = {
  Effect: string;
  Principal?: unknown;
  Action: unknown;
  Resource?: unknown;
  Condition?: unknown;
};

/** Whether a resource with these properties would let a caller in without a permission of IAM. */
type IsOpen = (properties: Record<string, unknown>, of: StackTemplate) => unknown;

const OPENINGS: readonly (readonly [type: string, isOpen: IsOpen])[] = [
  ["AWS::ApiGatewayV2::Route", ({ AuthorizationType }) => AuthorizationType !== "AWS_IAM"],
  // API Gateway answers a preflight before it checks who sent it.
  [
    "AWS::ApiGatewayV2::Api",
    ({ CorsConfiguration, ProtocolType }) => CorsConfiguration || ProtocolType !== "HTTP",
  ],
  ["AWS::ApiGatewayV2::Authorizer", () => true],
  ["AWS::ApiGateway::RestApi", () => true],
  ["AWS::Lambda::Url", () => true],
  [
    "AWS::Lambda::Permission",
    ({ Principal, SourceArn, FunctionUrlAuthType }) => {
      const service = ["apigateway.amazonaws.com", "events.amazonaws.com"].includes(String(Principal));
      return !service || SourceArn === undefined || FunctionUrlAuthType !== undefined;
    },
  ],
  ["AWS::DynamoDB::Table", ({ ResourcePolicy }) => ResourcePolicy !== undefined],
  [
    "AWS::SQS::QueuePolicy",
    (properties, of) =>
      statementsOf(properties).some(
        ({ Effect, Principal, Condition }) =>
          Effect === "Allow" && (!isService(Principal) || !isOwnRule(of, Condition)),
      ),
  ],
  [
    "AWS::IAM::Role",
    ({ AssumeRolePolicyDocument }, of) =>
      (AssumeRolePolicyDocument as { Statement: Statement[] }).Statement.some(
        ({ Effect, Principal, Condition }) =>
          Effect === "Allow" &&
          (!isService(Principal) || (isScheduler(Principal) && !isOwnGroup(of, Condition))),
      ),
  ],
  ["AWS::IAM::User", () => true],
  ["AWS::IAM::AccessKey", () => true],
  ["AWS::SecretsManager::ResourcePolicy", () => true],
  ["AWS::SQS::QueueInlinePolicy", () => true],
];

function openings(of: StackTemplate): string[] {
  return OPENINGS.flatMap(([type, isOpen]) =>
    resourcesOf(of, type)
      .filter(([, { Properties }]) => isOpen(Properties, of))
      .map(([id]) => `${type} ${id}`),
  );
}

function statementsOf({ PolicyDocument }: Record<string, unknown>): Statement[] {
  return (PolicyDocument as { Statement: Statement[] }).Statement;
}

function isService(principal: unknown): boolean {
  return typeof principal === "object" && principal !== null && Object.keys(principal).join() === "Service";
}

const SCHEDULER = "scheduler.amazonaws.com";

function isScheduler(principal: unknown): boolean {
  return isDeepStrictEqual(principal, { Service: SCHEDULER });
}

/** Scheduler works for every account: a role must say for which schedules it may be taken. */
function isOwnGroup(of: StackTemplate, condition: unknown): boolean {
  return resourcesOf(of, "AWS::Scheduler::ScheduleGroup").some(([id]) =>
    isDeepStrictEqual(condition, {
      StringEquals: {
        "aws:SourceAccount": { Ref: "AWS::AccountId" },
        "aws:SourceArn": { "Fn::GetAtt": [id, "Arn"] },
      },
    }),
  );
}

/** EventBridge works for every account: a queue must say which rules may send to it. */
function isOwnRule(of: StackTemplate, condition: unknown): boolean {
  const { ArnEquals } = (condition ?? {}) as { ArnEquals?: { "aws:SourceArn"?: unknown } };
  const arns = [ArnEquals?.["aws:SourceArn"] ?? []].flat();
  const own = resourcesOf(of, "AWS::Events::Rule").map(([id]) => ({ "Fn::GetAtt": [id, "Arn"] }));
  return arns.length > 0 && arns.every((arn) => own.some((rule) => isDeepStrictEqual(arn, rule)));
}

test("the API refuses every request without a signature", () => {
  expect(openings(template)).toEqual([]);
});

function excesses(of: StackTemplate): string[] {
  const statements = policiesOf(of).flatMap(([id, { Properties }]) =>
    statementsOf(Properties).map((statement) => ({ id, ...statement })),
  );
  return statements.flatMap(({ id, Action, Resource, Condition }) => {
    const actions = [Action].flat() as string[];
    const said = `${id}: ${actions}`;
    if (actions.some((action) => action.includes("*"))) return said;
    const ofGroup = actions.every((action) => /^scheduler:/.test(action)) && isOfGroup(Resource);
    // IAM has no resource for the action that lists schedules.
    const ofNothing = isDeepStrictEqual(actions, ["scheduler:ListSchedules"]) && Resource === "*";
    if (JSON.stringify(Resource).includes("*") && !ofGroup && !ofNothing) return said;
    const passed = { StringEquals: { "iam:PassedToService": SCHEDULER } };
    return actions.includes("iam:PassRole") && !isDeepStrictEqual(Condition, passed) ? said : [];
  });
}

function isOfGroup(resource: unknown): boolean {
  return /:schedule\/minutehand-(promotions|schedules)\/\*"\]\]}$/.test(JSON.stringify(resource));
}

test("no role may use all actions or resources of a kind, or pass Scheduler's roles to other services", () => {
  expect(excesses(template)).toEqual([]);
});

const setIn = (of: StackTemplate, action: RegExp, change: Partial<Statement>) => {
  const statements = policiesOf(of).flatMap(([, { Properties }]) => statementsOf(Properties));
  const [found] = statements.filter(({ Action }) => action.test(String(Action)));
  if (!found) throw new Error(`no role may ${action}`);
  Object.assign(found, change);
};
const EXCESSES: [string, (of: StackTemplate) => void][] = [
  ["all of a service's actions", (of) => setIn(of, /GetSecretValue/, { Action: "secretsmanager:*" })],
  ["every secret", (of) => setIn(of, /GetSecretValue/, { Resource: "*" })],
  [
    "every group's schedules",
    (of) => setIn(of, /CreateSchedule/, { Resource: "arn:aws:scheduler:::schedule/*" }),
  ],
  ["every mapping", (of) => setIn(of, /UpdateEventSourceMapping/, { Resource: "*" })],
  [
    "every schedule beside their list",
    (of) => setIn(of, /^scheduler:List/, { Action: "scheduler:GetSchedule" }),
  ],
  ["a role for any service", (of) => setIn(of, /PassRole/, { Condition: undefined })],
];
test.each(EXCESSES)("a role that may reach %s would be noticed", (_, widen) => {
  const wide = structuredClone(template);
  widen(wide);
  expect(excesses(wide)).toHaveLength(1);
});

describe("each of", () => {
  /** The roles that may do an action, by the ids of their policies, each with the resource of its permission. */
  const allowed = (action: string) =>
    policiesOf(template).flatMap(([id, { Properties }]) =>
      statementsOf(Properties)
        .filter(({ Action }) => [Action].flat().includes(action))
        .map(({ Resource }) => [id.replace(/DefaultPolicy\w+$/, ""), Resource] as const),
    );
  const [[secret = ""] = []] = resourcesOf(template, "AWS::SecretsManager::Secret");

  test("the webhooks' secrets is read by its own topic's function", () => {
    expect(allowed("secretsmanager:GetSecretValue")).toEqual([
      ["JobsWebhookcallbacksCallerRole", { Ref: secret }],
    ]);
  });

  test("Scheduler's roles invokes its own group's function, and only the recurring one may send to a DLQ; the tick invokes itself", () => {
    const rights = policiesOf(template).flatMap(([id, { Properties }]) =>
      /SchedulesRole/.test(id)
        ? statementsOf(Properties).map(({ Action, Resource }) => {
            const { "Fn::GetAtt": [target = ""] = [] } = Resource as { "Fn::GetAtt"?: string[] };
            return [id, Action, target].map((name) =>
              String(name).replace(/(?:DefaultPolicy)?[0-9A-F]{8}$/, ""),
            );
          })
        : [],
    );
    const tickInvokes = policiesOf(template).flatMap(([id, { Properties }]) =>
      /StartSweepers/.test(id)
        ? statementsOf(Properties).map(({ Resource }) =>
            String((Resource as { "Fn::GetAtt": string[] })["Fn::GetAtt"][0]).replace(/[0-9A-F]{8}$/, ""),
          )
        : [],
    );
    expect(rights).toEqual([
      ["JobsPromotionsSchedulesRole", "lambda:InvokeFunction", "JobsPromotionsPromoteFunction"],
      ["JobsRecurringSchedulesRole", "lambda:InvokeFunction", "JobsRecurringOccurrenceFunction"],
      ["JobsRecurringSchedulesRole", "sqs:SendMessage", "JobsRecurringDlq"],
    ]);
    expect(allowed("lambda:InvokeFunction")).toHaveLength(3);
    expect(tickInvokes).toEqual(["JobsTickSweeperFunction"]);
  });
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
    "a route that names no authorization",
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
    "a queue that another account may send to",
    (of) =>
      Object.assign(first(of, "AWS::SQS::QueuePolicy").Properties, {
        PolicyDocument: policy({ AWS: "123456789012" }),
      }),
  ],
  [
    "a queue that any rule may send to",
    (of) => {
      const policies = resourcesOf(of, "AWS::SQS::QueuePolicy").map(([, { Properties }]) => Properties);
      const lettingIn = policies.flatMap(statementsOf).filter(({ Effect }) => Effect === "Allow");
      delete lettingIn.find(({ Condition }) => JSON.stringify(Condition).includes("JobsEvents"))?.Condition;
    },
  ],
  [
    "a role that anyone may take",
    (of) =>
      Object.assign(first(of, "AWS::IAM::Role").Properties, {
        AssumeRolePolicyDocument: policy({ AWS: "*" }),
      }),
  ],
  [
    "a Scheduler role for any schedule",
    (of) => {
      const roles = resourcesOf(of, "AWS::IAM::Role").map(([, { Properties }]) => Properties);
      const documents = roles.map((role) => role.AssumeRolePolicyDocument as { Statement: Statement[] });
      const trusting = documents.flatMap(({ Statement }) => Statement);
      delete trusting.find(({ Principal }) => isScheduler(Principal))?.Condition;
    },
  ],
  [
    "a secret with a policy of its own",
    (of) =>
      Object.assign(of.Resources, { Open: { Type: "AWS::SecretsManager::ResourcePolicy", Properties: {} } }),
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
    "MINUTEHAND_EVENTS",
    "MINUTEHAND_EVENT_SOURCES",
    "MINUTEHAND_POLICY",
    "MINUTEHAND_PROMOTIONS",
    "MINUTEHAND_QUEUE_URL_PREFIX",
    "MINUTEHAND_SCHEDULES",
    "MINUTEHAND_TABLE",
    "MINUTEHAND_WEBHOOK_SECRET",
    "MINUTEHAND_WEBHOOK_TOPIC",
    "UV_THREADPOOL_SIZE",
  ]);
  // CloudFormation would put the value in its place.
  expect(JSON.stringify(template)).not.toContain("{{resolve:");
});
