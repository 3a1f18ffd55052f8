import { Duration, Fn, Lazy, Stack } from "aws-cdk-lib";
import { AccessLogFormat } from "aws-cdk-lib/aws-apigateway";
import { type CfnStage, HttpApi, HttpMethod, LogGroupLogDestination } from "aws-cdk-lib/aws-apigatewayv2";
import { HttpIamAuthorizer } from "aws-cdk-lib/aws-apigatewayv2-authorizers";
import { HttpLambdaIntegration } from "aws-cdk-lib/aws-apigatewayv2-integrations";
import type { Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import { LogGroup, RetentionDays } from "aws-cdk-lib/aws-logs";
import { Construct } from "constructs";
import { logVariables } from "../src/settings/log-groups.ts";
import { API_ACTIONS, grantPool, grantPulls, grantQueues } from "./access.ts";
import { bundleOf } from "./bundles.ts";
import { BundledFunction } from "./bundling/bundled-function.ts";
import { logGroupOf } from "./monitoring/log-groups.ts";
import type { ApiProps } from "./props.ts";
import { removalOf } from "./removal.ts";
import type { QueueParts, TopicQueues } from "./topic-queues.ts";

export type JobApiProps = QueueParts & {
  readonly api: ApiProps;
  /** The functions that run topics' jobs. They are read at synth, because consumers are added later. */
  readonly consumers: ReadonlyMap<string, LambdaFunction>;
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

/** `receive` has its own function, so that long polls do not starve the other calls. */
export class JobApi extends Construct {
  readonly http: HttpApi;
  readonly functions: readonly LambdaFunction[];
  readonly handler: LambdaFunction;
  readonly receive: LambdaFunction;

  constructor(scope: Construct, id: string, props: JobApiProps) {
    super(scope, id);
    const { table, topics, removable, tracing } = props;
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

    const pulled = topics.filter(({ settings }) => settings.consumer === "pull");
    const readyOf = (some: readonly TopicQueues[]) => some.map(({ ready }) => ready);
    const dlqOf = (some: readonly TopicQueues[]) => some.map(({ dlq }) => dlq);
    grantPool(api, table, API_ACTIONS);
    grantQueues(api, readyOf(topics), ["SendMessage", "GetQueueAttributes"]);
    grantQueues(api, dlqOf(topics), ["GetQueueAttributes"]);
    grantQueues(api, readyOf(pulled), ["DeleteMessage", "ChangeMessageVisibility"]);
    grantQueues(api, dlqOf(pulled), ["SendMessage"]);
    if (pulled.length > 0) grantPulls(receive, table, pulled);
    else grantPool(receive, table, ["GetItem"]);

    this.http = this.routes(api, receive, props);
  }

  private routes(api: LambdaFunction, receive: LambdaFunction, props: JobApiProps): HttpApi {
    const http = new HttpApi(this, "Http", {
      apiName: props.prefix,
      description: "Minutehand",
      createDefaultStage: false,
      defaultAuthorizer: new HttpIamAuthorizer(),
    });
    const toApi = new HttpLambdaIntegration("ToApi", api);
    // These routes have paths, unlike `$default`, so that IAM policies can allow single methods and paths.
    http.addRoutes({ path: "/", methods: [HttpMethod.ANY], integration: toApi });
    http.addRoutes({ path: "/{proxy+}", methods: [HttpMethod.ANY], integration: toApi });
    http.addRoutes({
      path: "/topics/{topic}/receive",
      methods: [HttpMethod.POST],
      integration: new HttpLambdaIntegration("ToReceive", receive),
    });
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

/**
 * Groups below `/aws/vendedlogs/` do not fill up CloudWatch's resource policy of at most 5,120 characters. With the stack's id and the
 * construct's address, a group that outlived its stack does not block a new one.
 */
function accessLogName(scope: Construct): string {
  const stackId = Fn.select(2, Fn.split("/", Stack.of(scope).stackId));
  return `/aws/vendedlogs/minutehand/${stackId}/${scope.node.addr.slice(-8)}`;
}
