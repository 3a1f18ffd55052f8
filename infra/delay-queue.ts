import { Annotations, Aspects, CfnOutput, Duration, Stack } from "aws-cdk-lib";
import type { HttpApi } from "aws-cdk-lib/aws-apigatewayv2";
import type { IGrantable, IPrincipal } from "aws-cdk-lib/aws-iam";
import type { IKey } from "aws-cdk-lib/aws-kms";
import type { IFunction, Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import type { Secret } from "aws-cdk-lib/aws-secretsmanager";
import { Construct } from "constructs";
import { unknownNames } from "../src/general/unknown-names.ts";
import { TOPIC_METRICS } from "../src/settings/metrics.ts";
import type { Policy } from "../src/settings/policy.ts";
import { DEFAULT_PREFIX } from "../src/settings/prefix.ts";
import { API_OUTPUT, TABLE_OUTPUT } from "../src/settings/stack-outputs.ts";
import { ENQUEUE_ACTIONS, grantPool, grantPulls, grantQueues } from "./access.ts";
import { cdkDurationOf } from "./app-duration.ts";
import { BundledFunction } from "./bundling/bundled-function.ts";
import { notifyLoops } from "./checks/notify-loops.ts";
import { partitionErrors } from "./checks/partitions.ts";
import { otherPlace } from "./checks/place.ts";
import { type QueueReader, roomForTopics } from "./checks/room-for-topics.ts";
import { endedSchedules } from "./checks/schedule-checks.ts";
import { seenTopics, TOPICS_FILE } from "./checks/seen-topics.ts";
import { tableErrors, tableKeyWarning } from "./checks/table.ts";
import { invalid, validate } from "./checks/validate.ts";
import {
  type ConcurrencyLimit,
  type ConsumerOptions,
  connectConsumer,
  consumerError,
  topicError,
} from "./consumer.ts";
import {
  environmentErrors,
  notifyEnvironment,
  queueEnvironment,
  queueUrlPrefix,
  setEnvironment,
} from "./environment.ts";
import { EventSourceControl } from "./event-source-control.ts";
import { Events } from "./events.ts";
import { type AnyFunction, functionBehind, isAnyFunction } from "./function-behind.ts";
import {
  type HandlerOptions,
  handlerCode,
  handlerError,
  withSourceMaps,
  wrongHandlerOptions,
} from "./handler.ts";
import { JobApi } from "./http-api.ts";
import { JobPool, type PoolTable } from "./job-pool.ts";
import { encryptLogs, useLogKey } from "./log-key.ts";
import { Alarms } from "./monitoring/alarms.ts";
import { Dashboard, MOST_DASHBOARD_TOPICS } from "./monitoring/dashboard.ts";
import { queuePolicy, rulesOf } from "./policy.ts";
import type { ApiProps, DelayQueueProps } from "./props.ts";
import { Promotions, RecurringSchedules } from "./scheduler.ts";
import { placeError, Target, type TargetFunction, type TargetOptions, targetTimeout } from "./target.ts";
import { Tick } from "./tick.ts";
import { tlsOnly } from "./tls-only.ts";
import { type QueueParts, TopicQueues, type TopicQueuesProps } from "./topic-queues.ts";
import { Webhook } from "./webhook.ts";

/** The context of a queue that `minutehand template` declares. Its user knows the names of the file, and not those of the construct. */
export const OF_FILE = "minutehand:of-file";
const HANDLER_TIMEOUT = Duration.seconds(60);
const HANDLER_MEMORY_MIB = 512;

type Parts = QueueParts & { readonly encryptionKey: IKey | undefined };
type Served = { readonly api: JobApi | undefined; readonly recurring: RecurringSchedules | undefined };
type Watched = Parts & {
  readonly tick: Tick;
  readonly promotions: Promotions | undefined;
  readonly recurring: RecurringSchedules | undefined;
  readonly events: Events | undefined;
};

/**
 * A delay queue: the job table, a ready queue and a DLQ for each topic, the tick of each minute, the HTTP API, the schedules, the event
 * rules, the callers of webhooks, the alarms and, if wanted, the dashboard.
 *
 * Throws an `Error` that names each unknown prop, or each broken rule with the value and what is allowed.
 * @example
 * const queue = new DelayQueue(stack, "Jobs", { topics: { "order-timeout": {} } });
 * queue.addHandler("order-timeout", "close-order.ts");
 * @example
 * // With the type of your topics, a wrong name does not compile.
 * type Topics = { "order-timeout": { orderId: string } };
 * const queue = new DelayQueue<Topics>(stack, "Jobs", { topics: { "order-timeout": {} } });
 */
export class DelayQueue<Topics = Record<string, unknown>> extends Construct {
  /** The table with all jobs. */
  readonly table: PoolTable;
  /** The HTTP API. Absent with `api: { auth: "none" }`. */
  readonly api?: HttpApi;
  /** The start of the queues' URLs. `<start><topic>` is the URL of a topic's ready queue, and `<start><topic>_dlq` that of its DLQ. */
  readonly queueUrlPrefix: string;
  /**
   * The environment variables of a program outside Lambda that uses `directClient` or `directWorker`, such as a container. Lambda functions
   * get them from `grantEnqueue` and `grantPull`.
   * @example
   * task.addContainer("Worker", { image, environment: queue.environment });
   * queue.grantPull("work", task.taskRole);
   */
  readonly environment: Readonly<Record<string, string>>;

  /** The environment variables of each function of the queue. */
  private readonly functionEnvironment: Readonly<Record<string, string>>;
  private readonly prefix: string;
  private readonly removable: boolean;
  private readonly tracing: boolean;
  private readonly consumerConcurrency: ConcurrencyLimit;
  private readonly topics: ReadonlyMap<string, TopicQueues>;
  private readonly consumers = new Map<string, LambdaFunction>();
  private readonly secrets = new Map<string, Secret>();
  private readonly control: EventSourceControl;
  private readonly alarms: Alarms;
  private readonly dashboard: Dashboard | undefined;
  private readonly promotions: Promotions | undefined;
  private readonly logKey: IKey | undefined;
  private readonly equipped = new Set<LambdaFunction>();
  private readonly producers = new Map<IPrincipal, QueueReader>();

  constructor(scope: Construct, id: string, props: DelayQueueProps<NoInfer<Topics>>) {
    super(scope, id);
    validate(this.node.path, props);
    const { prefix = DEFAULT_PREFIX, removable = false, tracing = false, encryptionKey } = props;
    const policy = queuePolicy(props);
    const { table, maxThroughput, tickConcurrency, tickSweepers, eventBus } = props;
    this.requireOwnPlace(eventBus);
    this.prefix = this.ownPrefix(prefix);
    this.table = new JobPool(this, "Pool", { table, maxThroughput, encryptionKey, removable }).table;
    const topics = this.createQueues(props.topics, { prefix, encryptionKey, eventBus, removable });
    this.queueUrlPrefix = queueUrlPrefix(prefix);
    this.removable = removable;
    this.tracing = tracing;
    this.consumerConcurrency = props.maximumConcurrency;
    this.topics = new Map(topics.map((queues) => [queues.topic, queues]));
    this.functionEnvironment = {
      ...queueEnvironment(this.table.tableName, prefix, policy, props.topicMetrics),
      ...notifyEnvironment(topics, eventBus),
    };
    const parts: Parts = { table: this.table, topics, prefix, removable, tracing, encryptionKey };
    const tick = new Tick(this, "Tick", { ...parts, tickConcurrency, tickSweepers });
    this.equip(tick.fn);
    if (props.longDelay !== false) this.promotions = new Promotions(this, "Promotions", parts);
    if (this.promotions) this.equip(this.promotions.fn);
    this.environment = { ...this.functionEnvironment, ...this.promotions?.environment };
    const served = this.serve(parts, tick, props);
    const { api, recurring } = served;
    if (api) this.api = api.http;
    const controllers = [tick.fn, ...(api ? [api.handler] : [])];
    this.control = new EventSourceControl(this, controllers, Object.keys(policy.topics));
    this.callWebhooks(parts);
    const events = this.applyEvents(parts, props);
    this.logKey = this.output(encryptionKey) ? encryptionKey : undefined;
    const watched = { ...parts, tick, promotions: this.promotions, recurring, events };
    this.alarms = this.createAlarms(watched, policy.shards, props);
    if (props.dashboard) this.dashboard = this.show(watched, api, props);
    for (const [topic, fn] of this.consumers) this.watchConsumer(topic, fn);
    this.warn(props);
    this.checkSizes(policy, this.readersOf(tick, served), this.dashboard && MOST_DASHBOARD_TOPICS);
  }

  /**
   * Makes a function the only consumer of a topic. `consumer` may be its `currentVersion`, or an alias of that, for example for a canary or
   * provisioned concurrency: the event source then invokes the alias or the version, and everything else below is done to the function. A
   * change of the queue's policy publishes a new version.
   *
   * Sets the function's environment (`MINUTEHAND_*`), its event source with partial batch responses, and its permissions. Sets the ready
   * queue's visibility timeout to the function's timeout plus 30 s. The function's role can read and write every job of the table, because
   * the table is not divided by topic; also for an untracked topic, because its tracking may change while jobs wait.
   *
   * Throws if the topic is not declared, is a pull topic, or already has a consumer or a webhook; if the function has the environment of
   * another queue, or a timeout of less than 10 s; if the batch size is not 1 to 10; and if the function is imported, or the version is not
   * its function's `currentVersion`, because then the queue cannot set the environment.
   * @example queue.addConsumer("refund", fn.addAlias("live", { provisionedConcurrentExecutions: 2 }));
   */
  addConsumer(topic: keyof Topics & string, consumer: AnyFunction, options: ConsumerOptions = {}): void {
    const queues = this.topics.get(topic);
    const [unknown] = unknownNames("addConsumer", "option", options, ["batchSize"]);
    if (unknown !== undefined) throw this.refusal(unknown);
    const fn = this.functionOf(consumer);
    const error =
      topicError(topic, queues, this.consumers.get(topic)) ??
      consumerError(fn.node.path, fn.timeout, options);
    if (error !== undefined || queues === undefined) throw this.refusal(error);
    this.equip(fn);
    this.consumers.set(topic, fn);
    const mapping = connectConsumer(fn, queues, this.table, this.consumerConcurrency, options, consumer);
    this.control.add(topic, mapping, fn, consumer !== fn);
    this.watchConsumer(topic, fn);
  }

  /**
   * Bundles a file into a Lambda function and makes that function the only consumer of a topic.
   *
   * The file is an ES module in TypeScript or JavaScript that exports `handler`, such as `export const handler = consumer(…)`. The function
   * runs Node 24 on arm64 and has a log group. Its role has the permissions that a consumer needs, and those of your options, such as
   * `initialPolicy` and `tracing`. In a VPC, the role may also manage the function's network interfaces, but the handler's code may not.
   *
   * Throws like `addConsumer`; if the file does not exist, does not compile or exports no `handler`; if the timeout is more than 15
   * minutes; and if the memory size is not a whole number of 128 to 10,240 MiB.
   * @param entry the path of the file, from the working directory
   * @returns the function, so that you can grant the permissions that the handler needs
   * @example queue.addHandler("order-timeout", "close-order.ts").addEnvironment("STAGE", "production");
   */
  addHandler(topic: keyof Topics & string, entry: string, options: HandlerOptions = {}): LambdaFunction {
    const {
      timeout: given = HANDLER_TIMEOUT,
      memorySize = HANDLER_MEMORY_MIB,
      environment = {},
      batchSize,
      bundling,
      sourceMaps = true,
      ...passedOn
    } = options;
    const consumerOptions = batchSize === undefined ? {} : { batchSize };
    const id = `Handler-${topic}`;
    const path = `${this.node.path}/${id}`;
    const { topics, consumers } = this;
    const timeout = cdkDurationOf(given);
    const error =
      wrongHandlerOptions(options)[0] ??
      topicError(topic, topics.get(topic), consumers.get(topic)) ??
      consumerError(path, timeout, consumerOptions) ??
      handlerError(timeout, memorySize);
    if (error !== undefined) throw this.refusal(error);
    const { hasConsumer, leftToRuntime, ...code } = handlerCode(entry, {
      ...(bundling && { bundling }),
      sourceMaps,
    });
    if (!hasConsumer) this.warnNotWrapped(topic, entry);
    if (leftToRuntime.length > 0) this.warnNotInstalled(topic, entry, leftToRuntime);
    const { fn } = new BundledFunction(this, id, {
      ...passedOn,
      tracing: passedOn.tracing ?? this.tracing,
      description: passedOn.description ?? `Runs the jobs of topic ${topic}`,
      ...code,
      timeout,
      memoryMiB: memorySize,
      environment: sourceMaps ? withSourceMaps(environment) : environment,
      removable: this.removable,
    });
    this.addConsumer(topic, fn, consumerOptions);
    return fn;
  }

  /**
   * Lets a function in any language run the jobs of a topic: a function of the queue invokes `fn` with each job, waits for its answer, and
   * records how the run ended. `fn` may be a function, an alias or a version of this account and region. It gets no environment, no
   * permissions and no event source.
   *
   * Throws if the topic is not declared, is a pull topic, or already has a consumer or a webhook; if the function is known to be in another
   * account or region; and if the timeout is not known, or longer than 14 minutes and 20 seconds.
   * @example
   * queue.addTarget("thumbnail", new Function(stack, "Thumbnail", { runtime: Runtime.PYTHON_3_13, … }));
   */
  addTarget(topic: keyof Topics & string, fn: TargetFunction, options: TargetOptions = {}): void {
    const queues = this.topics.get(topic);
    const [unknown] = unknownNames("addTarget", "option", options, ["timeout"]);
    const error = unknown ?? topicError(topic, queues, this.consumers.get(topic)) ?? placeError(this, fn);
    const timeout = error ?? targetTimeout(fn, options);
    if (typeof timeout === "string" || queues === undefined) throw this.refusal(`${timeout}`);
    const { table, removable, tracing } = this;
    // Beside the target, because the target's stack may already depend on the stack of the queue.
    const id = `Target-${topic}`;
    // Another queue may have a topic with this name and the same target.
    const ownId = fn.node.tryFindChild(id) ? `${id}-${this.node.addr}` : id;
    const target = new Target(fn, ownId, {
      ...{ target: fn, timeout, queues, table, removable, tracing },
    });
    if (this.logKey !== undefined) useLogKey(target, this.logKey);
    this.equip(target.fn);
    this.consumers.set(topic, target.fn);
    this.control.add(topic, target.eventSource, target.fn);
    this.watchConsumer(topic, target.fn);
  }

  /**
   * Allows `producer` to enqueue, read, move and cancel jobs of every topic with `directClient`, without the HTTP API. Also sets the
   * environment of a Lambda function. Synth warns if the queue cannot set it, because the function is imported or the version is not its
   * function's `currentVersion`: then set `queue.environment` yourself. Throws if the function has the environment of another queue.
   */
  grantEnqueue(producer: IGrantable): void {
    if (isAnyFunction(producer)) this.equipGrantee(producer);
    const { grantPrincipal } = producer;
    const role = Construct.isConstruct(grantPrincipal) ? grantPrincipal : undefined;
    this.producers.set(grantPrincipal, { role, namings: 1, isForeign: true });
    grantPool(producer, this.table, ENQUEUE_ACTIONS);
    const ready = [...this.topics.values()].map((queues) => queues.ready);
    grantQueues(producer, ready, ["SendMessage"]);
    this.promotions?.grantKeep(producer);
  }

  /**
   * Allows `worker` to pull and settle the jobs of a pull topic with `directWorker`, without the HTTP API. Grant each topic that it pulls.
   * Also sets the environment of a Lambda function, or warns like `grantEnqueue`. The worker's role can read and write every job of the
   * table, because the table is not divided by topic.
   * Throws if the topic is not declared or is not a pull topic, or if the function has the environment of another queue.
   * @example queue.grantPull("work", task.taskRole);
   */
  grantPull(topic: keyof Topics & string, worker: IGrantable): void {
    const queues = this.topics.get(topic);
    if (queues?.settings.consumer !== "pull") {
      const pulled = [...this.topics.values()].filter(({ settings }) => settings.consumer === "pull");
      const allowed = pulled.map((one) => one.topic).join(", ") || "none";
      throw this.refusal(`topic "${topic}" is not a pull topic; pull topics: ${allowed}`);
    }
    if (isAnyFunction(worker)) this.equipGrantee(worker);
    grantPulls(worker, this.table, [queues]);
  }

  /**
   * The secret that signs the calls of a webhook topic. For example, grant a function read access, so that it can give receivers their
   * secrets. Throws if the topic is not declared or has no webhook.
   */
  webhookSecret(topic: keyof Topics & string): Secret {
    const secret = this.secrets.get(topic);
    if (secret !== undefined) return secret;
    const allowed = [...this.secrets.keys()].join(", ") || "none";
    throw this.refusal(`topic "${topic}" has no webhook; topics with a webhook: ${allowed}`);
  }

  private createQueues(
    topics: DelayQueueProps["topics"],
    shared: Pick<TopicQueuesProps, "prefix" | "encryptionKey" | "eventBus" | "removable">,
  ): TopicQueues[] {
    const queues = Object.entries(topics).map(
      ([topic, settings]) => new TopicQueues(this, `Topic-${topic}`, { ...shared, topic, settings }),
    );
    tlsOnly(
      this,
      "TopicQueues",
      queues.flatMap(({ ready, dlq }) => [ready, dlq]),
    );
    return queues;
  }

  /** The API, and the recurring schedules if callers of the API can make them or the props declare them. */
  private serve(parts: Parts, tick: Tick, props: DelayQueueProps): Served {
    const { api: settings = {}, schedules = {} } = props;
    const api = settings.auth === "none" ? undefined : this.createApi(parts, settings);
    if (!api && Object.keys(schedules).length === 0) return { api, recurring: undefined };
    const recurring = new RecurringSchedules(this, "Recurring", parts);
    this.equip(recurring.fn);
    for (const fn of [tick.fn, ...(api ? [api.handler] : [])]) recurring.grantManage(fn);
    for (const [name, schedule] of Object.entries(schedules))
      recurring.declare(this.node.path, name, schedule);
    return { api, recurring };
  }

  private createApi(parts: Parts, settings: ApiProps): JobApi {
    const api = new JobApi(this, "Api", { ...parts, api: settings, consumers: this.consumers });
    for (const fn of api.functions) this.equip(fn);
    this.promotions?.grantKeep(api.handler);
    return api;
  }

  private callWebhooks(parts: Parts): void {
    for (const queues of parts.topics.filter(({ settings }) => settings.webhook !== undefined)) {
      const webhook = new Webhook(this, `Webhook-${queues.topic}`, { ...parts, queues });
      this.equip(webhook.fn);
      this.consumers.set(queues.topic, webhook.fn);
      this.secrets.set(queues.topic, webhook.secret);
      this.control.add(queues.topic, webhook.eventSource, webhook.fn);
    }
  }

  /** Functions put events on a bus by its name, and look for it where they run. A rule of the stack finds no other bus either. */
  private requireOwnPlace(eventBus: DelayQueueProps["eventBus"]): void {
    const place = eventBus && otherPlace(this, eventBus.eventBusRef.eventBusArn, eventBus.env);
    if (place === undefined) return;
    throw invalid(this.node.path, [
      `eventBus must be in the account and region of the queue, is in ${place}: give a bus of the queue's own place, and let a rule of it send the events on`,
    ]);
  }

  /** Answers the prefix. Two queues with one prefix would have resources of the same names. */
  private ownPrefix(prefix: string): string {
    const { environment } = Stack.of(this);
    for (const queue of this.node.root.node.findAll()) {
      if (!(queue instanceof DelayQueue) || queue.prefix !== prefix) continue;
      const { path } = queue.node;
      if (Stack.of(queue) === Stack.of(this))
        throw invalid(this.node.path, [`prefix must differ from that of the queue ${path}, got "${prefix}"`]);
      if (Stack.of(queue).environment === environment)
        Annotations.of(this).addWarningV2(
          "minutehand:same-prefix",
          `the queue ${path} has the prefix "${prefix}" too: in one account and region only one of them deploys. Give each a prefix of its own`,
        );
    }
    return prefix;
  }

  private applyEvents(parts: Parts, { topics, eventBus }: DelayQueueProps): Events | undefined {
    const rules = rulesOf(topics);
    if (rules.length === 0) return undefined;
    const events = new Events(this, "Events", { ...parts, rules, eventBus });
    this.equip(events.fn);
    this.promotions?.grantKeep(events.fn);
    return events;
  }

  /** Answers whether the logs are encrypted with the key. */
  private output(encryptionKey: IKey | undefined): boolean {
    if (this.api !== undefined)
      new CfnOutput(this, "ApiUrl", { description: API_OUTPUT, value: this.api.apiEndpoint });
    new CfnOutput(this, "TableName", { description: TABLE_OUTPUT, value: this.table.tableName });
    return encryptionKey !== undefined && encryptLogs(this, encryptionKey);
  }

  private createAlarms(
    watched: Watched,
    shards: number,
    { alarmTopic, runbookUrl }: DelayQueueProps,
  ): Alarms {
    const consumerOf = (topic: string) => this.consumers.get(topic);
    return new Alarms(this, "Alarms", { ...watched, shards, alarmTopic, runbookUrl, consumerOf });
  }

  private show(watched: Watched, api: JobApi | undefined, { topicMetrics }: DelayQueueProps): Dashboard {
    const { tick, recurring, events } = watched;
    const dashboard = new Dashboard(this, "Dashboard", {
      ...watched,
      topicMetrics: topicMetrics ?? TOPIC_METRICS,
      api: api?.http,
      tick: tick.fn,
      alarms: this.alarms.inStack,
    });
    dashboard.watch("tick", tick.fn);
    if (api) dashboard.watch("API", api.handler);
    if (api) dashboard.watch("API receive", api.receive);
    if (this.promotions) dashboard.watch("promotions", this.promotions.fn);
    if (recurring) dashboard.watch("schedules", recurring.fn);
    if (events) dashboard.watch("events", events.fn);
    return dashboard;
  }

  private watchConsumer(topic: string, fn: LambdaFunction): void {
    this.alarms.watchConsumer(topic, fn);
    this.dashboard?.watch(`consumer of ${topic}`, fn);
  }

  private functionOf(target: AnyFunction): LambdaFunction {
    const fn = functionBehind(target);
    if (typeof fn === "string") throw this.refusal(fn);
    return fn;
  }

  private equipGrantee(grantee: IFunction): void {
    const fn = functionBehind(grantee);
    if (typeof fn !== "string") this.equip(fn);
    else
      Annotations.of(this).addWarningV2(
        `minutehand:environment:${grantee.node.path}`,
        `${fn}; or set these variables of \`queue.environment\` yourself: ${Object.keys(this.environment).join(", ")}`,
      );
  }

  private refusal(why: string | undefined): Error {
    return new Error(`DelayQueue ${this.node.path}: ${why}`);
  }

  private equip(fn: LambdaFunction): void {
    setEnvironment(this, fn, this.functionEnvironment);
    this.equipped.add(fn);
  }

  private warn(props: DelayQueueProps): void {
    const { topics, topicsFile, alarmTopic, encryptionKey, removable = false } = props;
    const annotations = Annotations.of(this);
    const tableKey = tableKeyWarning(this.table, encryptionKey);
    if (tableKey !== undefined) annotations.addWarningV2("minutehand:table-key", tableKey);
    if (alarmTopic === undefined && !removable) {
      annotations.addWarningV2(
        "minutehand:alarms",
        "the alarms notify nobody: give an SNS topic as alarmTopic",
      );
    }
    const { removed, fault } = removable
      ? { removed: [] }
      : seenTopics(this.node.path, Object.keys(topics), topicsFile);
    if (fault !== undefined) {
      annotations.addWarningV2(
        "minutehand:topics-file",
        `the topics are not recorded, so synth will not warn when one is removed: ${fault}. Run synth where it can write, ` +
          "and commit the file, or give another path as topicsFile",
      );
    }
    for (const topic of removed) {
      annotations.addWarningV2(
        `minutehand:removed-topic:${topic}`,
        `topic "${topic}" is no longer declared: its waiting jobs will be dead an hour after they are due, and its ` +
          `queues stay. Cancel or run these jobs first, then delete the topic's line in ${topicsFile ?? TOPICS_FILE}`,
      );
    }
    const { prefix = DEFAULT_PREFIX } = props;
    for (const sentence of notifyLoops(prefix, topics, rulesOf(topics)))
      annotations.addWarningV2("minutehand:notify-loop", sentence);
    for (const sentence of endedSchedules(props, Date.now()))
      annotations.addWarningV2("minutehand:ended-schedule", sentence);
    // Check for consumers in an aspect, because they are added after this constructor.
    Aspects.of(this).add({
      visit: (node) => {
        if (node instanceof TopicQueues) this.warnWithoutConsumer(node);
      },
    });
  }

  /** The queue's own roles whose statements name each topic's queues. */
  private readersOf(tick: Tick, { api, recurring }: Served): QueueReader[] {
    const roleOf = ({ role }: LambdaFunction) => role as Construct | undefined;
    return [
      { role: roleOf(tick.fn), namings: 2 },
      ...(this.promotions ? [{ role: roleOf(this.promotions.fn), namings: 1 }] : []),
      ...(api
        ? [
            { role: roleOf(api.handler), namings: 2 },
            { role: roleOf(api.receive), namings: 2, pullOnly: true as const },
          ]
        : []),
      ...(recurring ? [{ role: roleOf(recurring.fn), namings: 1 }] : []),
    ];
  }

  /** Counts at validation: users add consumers after this constructor, and the CDK splits large policies after all aspects. */
  private checkSizes(
    policy: Policy,
    readers: readonly QueueReader[],
    mostTopics = Number.POSITIVE_INFINITY,
  ): void {
    const validate = () => {
      const { control, equipped: functions, producers } = this;
      const all = [...readers, ...producers.values()];
      const size = { policy, functions, control, readers: all, mostTopics };
      const room = roomForTopics(Stack.of(this), size);
      if (room !== undefined) Annotations.of(this).addWarningV2("minutehand:room", room);
      return [
        ...[...functions].flatMap((fn) => environmentErrors(fn, policy)),
        ...partitionErrors(functions),
        ...tableErrors(this.table),
      ];
    };
    this.node.addValidation({ validate });
  }

  private warnNotWrapped(topic: string, entry: string): void {
    Annotations.of(this).addWarningV2(
      `minutehand:not-wrapped:${topic}`,
      `the handler of topic "${topic}" in ${entry} is not wrapped with consumer(…), so it gets SQS's event and runs no job: ` +
        "export const handler = consumer(async (job) => { … })",
    );
  }

  private warnNotInstalled(topic: string, entry: string, packages: readonly string[]): void {
    Annotations.of(this).addWarningV2(
      `minutehand:not-installed:${topic}`,
      `the handler of topic "${topic}" in ${entry} imports ${packages.join(" and ")}: no such package is installed, ` +
        "so the function expects it in Lambda's runtime",
    );
  }

  private warnWithoutConsumer({ topic, settings }: TopicQueues): void {
    if (settings.consumer === "pull" || this.consumers.has(topic)) return;
    const give = this.node.tryGetContext(OF_FILE)
      ? 'give the topic an entry in "handlers" or "targets" of the file, or declare the topic with "consumer": "pull" or "webhook": {}'
      : 'call addHandler, addConsumer or addTarget, or declare the topic with consumer "pull"';
    Annotations.of(this).addWarningV2(
      `minutehand:no-consumer:${topic}`,
      `topic "${topic}" has no consumer: ${give}`,
    );
  }
}
