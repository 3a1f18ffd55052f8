import { Duration, Fn, Lazy, Stack } from "aws-cdk-lib";
import { AccessLogFormat } from "aws-cdk-lib/aws-apigateway";
import {
  type CfnRoute,
  type CfnStage,
  HttpApi,
  HttpMethod,
  LogGroupLogDestination,
} from "aws-cdk-lib/aws-apigatewayv2";
import { HttpIamAuthorizer } from "aws-cdk-lib/aws-apigatewayv2-authorizers";
import { HttpLambdaIntegration } from "aws-cdk-lib/aws-apigatewayv2-integrations";
import type { Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import { LogGroup, RetentionDays } from "aws-cdk-lib/aws-logs";
import { Construct } from "constructs";
import { brokenIn, type Check } from "../src/core/check.ts";
import { logVariables } from "../src/settings/log-groups.ts";
import { API_ACTIONS, grantNotify, grantPool, grantPulls, grantQueues } from "./access.ts";
import { bundleOf } from "./bundles.ts";
import { BundledFunction } from "./bundling/bundled-function.ts";
import { shown } from "./checks/check.ts";
import { invalid } from "./checks/validate.ts";
import { logGroupOf } from "./monitoring/log-groups.ts";
import type { ApiProps, ApiScopes } from "./props.ts";
import { removalOf } from "./removal.ts";
import type { QueueParts, TopicQueues } from "./topic-queues.ts";

export type JobApiProps = QueueParts & {
  readonly api: ApiProps;
  /** The functions that run topics' jobs. They are read at synth, because consumers are added later. */
  readonly consumers: ReadonlyMap<string, LambdaFunction>;
};

type Routed = {
  readonly api: LambdaFunction;
  readonly receive: LambdaFunction;
  readonly scopes: ApiScopes | undefined;
};

// While a caller waits in `receive`, AWS bills this function for the whole time. A call that receives ten jobs of 180 KiB takes the
// process to 90 MiB, and five of these calls in a row to 150 MiB.
const RECEIVE_MEMORY_MIB = 256;
// Shorter than the 30 s after which an HTTP API gives up ("Quotas for HTTP APIs"), so that the function can still answer.
const TIMEOUT = Duration.seconds(29);
/** Calls a second. */
export const DEFAULT_RATE = 1000;
const DEFAULT_BURST = 500;
/** CloudWatch keeps the time of each line. The path is left out, because it may have the key of a job. */
const ACCESS_LOG = [
  "$context.requestId",
  "$context.identity.sourceIp",
  "$context.identity.caller",
  "$context.httpMethod",
  "$context.routeKey",
  "$context.status",
].join(" ");

/**
 * The calls of the scopes `write`, without `receive`. A call that is in no list needs the scopes `operate`: a path can be written in more than
 * one way, and whatever API Gateway does not recognise must not need less.
 */
const WRITES: readonly { readonly path: string; readonly methods: HttpMethod[] }[] = [
  { path: "/jobs", methods: [HttpMethod.POST] },
  { path: "/jobs/batch", methods: [HttpMethod.POST] },
  { path: "/jobs/cancel", methods: [HttpMethod.POST] },
  { path: "/jobs/{id}", methods: [HttpMethod.PATCH, HttpMethod.DELETE] },
  { path: "/topics/{topic}/jobs/{key}", methods: [HttpMethod.PUT, HttpMethod.DELETE] },
  { path: "/topics/{topic}/finish", methods: [HttpMethod.POST] },
  { path: "/topics/{topic}/extend", methods: [HttpMethod.POST] },
  { path: "/topics/{topic}/retry", methods: [HttpMethod.POST] },
  { path: "/topics/{topic}/bury", methods: [HttpMethod.POST] },
];

/** `receive` has its own function, so that long polls do not starve the other calls. */
export class JobApi extends Construct {
  readonly http: HttpApi;
  readonly functions: readonly LambdaFunction[];
  readonly handler: LambdaFunction;
  readonly receive: LambdaFunction;

  constructor(scope: Construct, id: string, props: JobApiProps) {
    super(scope, id);
    const { removable, tracing } = props;
    const { receiveConcurrency } = props.api;
    const shared = { timeout: TIMEOUT, removable, tracing };
    const api = new BundledFunction(this, "Handler", {
      ...shared,
      code: bundleOf("api"),
      description: "Minutehand's HTTP API, all calls except receive",
      memoryMiB: 1024,
      // They cost a sixth as much as the function's time, and the access log has a line for each call.
      logsInvocations: false,
    }).fn;
    const receive = new BundledFunction(this, "Receive", {
      ...shared,
      code: bundleOf("receive"),
      description: "Minutehand's HTTP API, the call receive",
      memoryMiB: RECEIVE_MEMORY_MIB,
      ...(receiveConcurrency && { reservedConcurrentExecutions: receiveConcurrency }),
    }).fn;
    this.functions = [api, receive];
    this.handler = api;
    this.receive = receive;
    this.grant(props);
    this.http = this.routes(api, receive, props);
  }

  private grant({ table, topics }: JobApiProps): void {
    const { handler: api, receive } = this;
    const [pulled = [], others = []] = [true, false].map((isPulled) =>
      topics.filter(({ settings }) => (settings.consumer === "pull") === isPulled),
    );
    const readyOf = (some: readonly TopicQueues[]) => some.map(({ ready }) => ready);
    const dlqOf = (some: readonly TopicQueues[]) => some.map(({ dlq }) => dlq);
    grantPool(api, table, API_ACTIONS);
    // Each queue is named once, because the statements of many topics fill several policies.
    const send = ["SendMessage", "GetQueueAttributes"] as const;
    grantQueues(api, readyOf(others), send);
    grantQueues(api, readyOf(pulled), [...send, "DeleteMessage", "ChangeMessageVisibility"]);
    grantQueues(api, dlqOf(others), ["GetQueueAttributes"]);
    grantQueues(api, dlqOf(pulled), send);
    grantNotify(api, pulled);
    if (pulled.length > 0) grantPulls(receive, table, pulled);
    else grantPool(receive, table, ["GetItem"]);
  }

  private routes(api: LambdaFunction, receive: LambdaFunction, props: JobApiProps): HttpApi {
    const { authorizer = new HttpIamAuthorizer(), scopes } = props.api;
    const http = new HttpApi(this, "Http", {
      apiName: props.prefix,
      description: "Minutehand",
      createDefaultStage: false,
      defaultAuthorizer: authorizer,
    });
    this.addRoutes(http, { api, receive, scopes });
    const accessLog = new LogGroup(this, "AccessLog", {
      logGroupName: accessLogName(this),
      retention: RetentionDays.ONE_MONTH,
      removalPolicy: removalOf(props.removable),
    });
    const stage = http.addStage("Stage", {
      stageName: "$default",
      autoDeploy: true,
      throttle: {
        rateLimit: props.api.throttlingRate ?? DEFAULT_RATE,
        burstLimit: props.api.throttlingBurst ?? DEFAULT_BURST,
      },
      accessLogSettings: {
        destination: new LogGroupLogDestination(accessLog),
        format: AccessLogFormat.custom(ACCESS_LOG),
      },
    });
    const variables = Lazy.any({ produce: () => this.logVariables(props.consumers) });
    (stage.node.defaultChild as CfnStage).stageVariables = variables;
    return http;
  }

  /** The routes have paths, unlike `$default`, so that IAM policies can allow single methods and paths. */
  private addRoutes(http: HttpApi, { api, receive, scopes }: Routed): void {
    // With scopes there are many routes, and a permission for each would fill the function's policy and the stack.
    const toApi = new HttpLambdaIntegration("ToApi", api, { scopePermissionToRoute: scopes === undefined });
    const toReceive = new HttpLambdaIntegration("ToReceive", receive);
    const add = (path: string, methods: HttpMethod[], group: keyof ApiScopes, integration = toApi) =>
      http.addRoutes({
        ...{ path, methods, integration },
        ...(scopes && { authorizationScopes: [...scopes[group]] }),
      });
    const any = [HttpMethod.ANY];
    const added = [
      ...add("/", any, "operate"),
      ...add("/{proxy+}", any, "operate"),
      ...add("/topics/{topic}/receive", [HttpMethod.POST], "write", toReceive),
    ];
    if (scopes) {
      added.push(...add("/{proxy+}", [HttpMethod.GET, HttpMethod.HEAD], "read"));
      added.push(...WRITES.flatMap(({ path, methods }) => add(path, methods, "write")));
    }
    const types = added.map(({ node }) => (node.defaultChild as CfnRoute).authorizationType);
    const broken = brokenIn(
      [...new Set(types)].flatMap((type) => typeChecks(type, scopes)),
      shown,
    );
    if (broken.length > 0) throw invalid(this.node.scope?.node.path ?? "", broken);
  }

  /** Tell the API's functions where the topics' functions log. `undefined` if no log group is known. */
  private logVariables(consumers: JobApiProps["consumers"]): Record<string, string> | undefined {
    const groups = [...consumers].flatMap(([topic, fn]) => {
      const group = logGroupOf(this, fn);
      return group === undefined ? [] : [[topic, group] as const];
    });
    if (groups.length === 0) return undefined;
    return logVariables({ region: Stack.of(this).region, groups: Object.fromEntries(groups) });
  }
}

/** Of a route's `AuthorizationType`: only its routes say what an authorizer does. `HttpNoneAuthorizer` would let everybody in. */
function typeChecks(type: string | undefined, scopes: ApiScopes | undefined): Check[] {
  return [
    {
      holds: type !== "NONE",
      rule: "api.authorizer must authorize callers",
      actual: type,
      allowed: '"JWT", "CUSTOM" or "AWS_IAM"',
    },
    {
      holds: scopes === undefined || type === "JWT",
      rule: "api.scopes needs an authorizer that reads the scopes of tokens",
      actual: type,
      allowed: '"JWT"',
    },
  ];
}

/**
 * Groups below `/aws/vendedlogs/` do not fill up CloudWatch's resource policy of at most 5,120 characters. With the stack's id and the
 * construct's address, a group that outlived its stack does not block a new one.
 */
function accessLogName(scope: Construct): string {
  const stackId = Fn.select(2, Fn.split("/", Stack.of(scope).stackId));
  return `/aws/vendedlogs/minutehand/${stackId}/${scope.node.addr.slice(-8)}`;
}
