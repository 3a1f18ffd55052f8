import { realpathSync } from "node:fs";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { SchedulerClient } from "@aws-sdk/client-scheduler";
import { SecretsManagerClient } from "@aws-sdk/client-secrets-manager";
import { SQSClient } from "@aws-sdk/client-sqs";
import { NodeHttpHandler } from "@smithy/node-http-handler";
import { adviseRegularly, countMessages, goneTopics } from "./advice.ts";
import { checkSettings } from "./app/cdk-app.ts";
import { watchFolders } from "./app/folder-watch.ts";
import { createInputs } from "./app/inputs.ts";
import { rebuildFunction } from "./app/rebuild.ts";
import { createReloader } from "./app/reload.ts";
import { createSynthesis, type Synthesis } from "./app/synthesis.ts";
import { createTypeCheck } from "./app/type-check.ts";
import { clockRoute } from "./clock-route.ts";
import { aheadText } from "./clock-words.ts";
import { type DataFolder, openDataFolder } from "./data-folder.ts";
import { logDiskShortage } from "./disk.ts";
import type { Outcome } from "./functions/execution-environment.ts";
import { type HttpApi, openHttpApi, type Pages } from "./functions/http-api.ts";
import { type Endpoints, type Platform, platformVariables, readPlatform } from "./functions/platform.ts";
import { createFunctions, type StackFunctions } from "./functions/stack-functions.ts";
import { startTriggers, type Triggers } from "./functions/triggers.ts";
import { errorText, LocalError } from "./local-error.ts";
import type { LogLine } from "./log-lines.ts";
import { type ClockMoves, createClockMoves } from "./move-clock.ts";
import { readPoolEntries } from "./pool-entries.ts";
import { makePrivateFolder } from "./private-files.ts";
import type { Database } from "./processes/database.ts";
import { type Emulators, startEmulators } from "./processes/emulators.ts";
import { type Guard, startGuard } from "./processes/guard.ts";
import { openRunnerLog, type RunnerLog } from "./runner-log.ts";
import { keepRecord, type RecordKeeper } from "./runner-record.ts";
import { type AppliedEvents, createAppliedEvents } from "./services/applied-events.ts";
import { createClock, type MovingClock } from "./services/clock.ts";
import { jsonFile } from "./services/json-file.ts";
import { type OwnServices, startOwnServices } from "./services/own-services.ts";
import { createTeardown, type Teardown } from "./teardown.ts";
import { readAssembly } from "./template/assembly.ts";
import { refusalText } from "./template/create-each.ts";
import { webhookSecretsOf, withOneShard } from "./template/delay-queue.ts";
import { leaveOutRefused } from "./template/left-out.ts";
import { createQueues } from "./template/queues.ts";
import { type FunctionSpec, type QueueSpec, readStack, type StackSpec } from "./template/resources.ts";
import { createSchedules } from "./template/schedules.ts";
import { createSecrets } from "./template/secrets.ts";
import { createTables } from "./template/tables.ts";

/** Enough for the ten pollers of each of about 15 queues, whose requests wait up to 20 s, and for the deletions at the same time. */
const MAX_SOCKETS = 200;
const TYPESCRIPT = /\.[cm]?tsx?$/;

export type EmbeddedStackOptions = {
  /** The port of the HTTP API on 127.0.0.1; 0 picks a free port. */
  readonly port: number;
  readonly dataDir: string;
  /** Whether to delete the data of earlier runs first, except the secrets. */
  readonly reset?: boolean;
  /** Whether the services keep their data in memory, and not in the data folder. Default: false. */
  readonly memory?: boolean;
  /** Which embedded DynamoDB to start. Default: the native one where it is installed, else the portable one. */
  readonly database?: Database | undefined;
  /** Whether scheduled rules fire at the start and then at their rates. Default: true. */
  readonly tick?: boolean;
  /** Whether the queue uses one shard, whatever the app says, if DynamoDB is embedded. Default: false. */
  readonly oneShard?: boolean;
  /** Environment variables of all functions. They override the template's. */
  readonly environment?: Readonly<Record<string, string>>;
  /** The folder of the CDK project. Default: the working directory. */
  readonly root?: string;
  /** The command that runs the app. Default: the command in `cdk.json`. */
  readonly app?: string | undefined;
  /** The name of the stack to play. Default: the only stack, or the only stack with a delay queue. */
  readonly stack?: string | undefined;
  /** Whether functions are reloaded when their code or settings are saved. Default: false. */
  readonly watch?: boolean;
  /** Whether the types of the app's files are checked in the background, at the start and after saves. Only with `watch`. Default: false. */
  readonly typeCheck?: boolean;
  /** Called with each line of the log: job events, lines of functions, warnings. */
  readonly log: (line: string) => void;
  /** The console, which is served on the port of the HTTP API and follows the log. */
  readonly console?: StackConsole | undefined;
  /** Called with a line about each slow step of the start. */
  readonly progress?: (line: string) => void;
  /** Ends a start that is under way. The start then throws the signal's reason. */
  readonly signal?: AbortSignal;
  /** Called when an emulator has died and cannot be restarted. The stack then no longer works. */
  readonly onLost?: (error: Error) => void;
};

/** A web page about the stack. This room knows nothing about its content. */
export type StackConsole = {
  readonly path: string;
  readonly pages: Pages;
  /** Called with the stack's clock before the first line. */
  readonly onStart?: (clock: () => number) => void;
  /** Called with each line of the log, and with the topic and the job that the line is about. */
  readonly onLine: (line: LogLine) => void;
};

export type EmbeddedStack = {
  readonly url: string;
  /** Whether the app has an HTTP API. Without one, each call of an API at the URL answers 404. */
  readonly hasApi: boolean;
  readonly endpoints: Endpoints;
  readonly tableName: string;
  /** A ready queue's URL without the topic: `http://127.0.0.1:…/000000000000/minutehand-` */
  readonly queueUrlPrefix: string;
  readonly queues: readonly QueueSpec[];
  readonly functions: readonly FunctionSpec[];
  readonly platform: Platform;
  /** The process ids of each function, by its logical id. */
  readonly functionPids: () => Record<string, number[]>;
  readonly emulatorPids: () => { dynamodb?: number; sqs?: number };
  readonly guardPid: () => number | undefined;
  /** Invokes a function. `name`: its name, its logical id, or a part of the logical id that no other function has. */
  readonly invoke: (name: string, event: unknown) => Promise<Outcome>;
  readonly tick: () => Promise<Outcome[]>;
  readonly stop: () => Promise<void>;
};

/**
 * Throws `LocalError` for a failure that the user can fix.
 * @example const stack = await startEmbeddedStack({ port: 0, dataDir: ".minutehand", log: console.log });
 */
export async function startEmbeddedStack(options: EmbeddedStackOptions): Promise<EmbeddedStack> {
  const teardown = createTeardown();
  try {
    return await start(options, teardown);
  } catch (error) {
    await teardown.run().catch((unclean) => options.log(errorText(unclean)));
    throw error;
  }
}

type Start = {
  readonly options: EmbeddedStackOptions;
  readonly root: string;
  readonly log: RunnerLog;
  readonly clock: MovingClock;
  readonly applied: AppliedEvents;
  /** How many runs of jobs have begun. */
  readonly runs: () => number;
  readonly teardown: Teardown;
};

/** What a stack stands on before its app is read. */
type Base = Start & {
  /** Absent: the services keep their data in memory. */
  readonly folder: DataFolder | undefined;
  readonly api: HttpApi;
  /** Why the clock cannot be moved, until it can. */
  readonly moves: { of: ClockMoves | string };
  readonly keepClock: (ahead: number) => void;
  readonly platform: Platform;
  readonly services: OwnServices;
  readonly guard: Guard;
  readonly record: RecordKeeper;
};

/** The synthesised app, and the emulators, which start at the same time. */
type App = Base & {
  readonly emulators: Emulators;
  readonly endpoints: Endpoints;
  readonly synthesis: Synthesis;
  readonly outdir: string;
  /** When the app began, ms since the epoch. */
  readonly began: number;
};

async function start(options: EmbeddedStackOptions, teardown: Teardown): Promise<EmbeddedStack> {
  // Imports and inputs of bundles are named by their real paths.
  const root = realpathSync(options.root ?? process.cwd());
  const clock = createClock();
  options.console?.onStart?.(clock.now);
  const applied = createAppliedEvents();
  const { log, runs } = openLog(options, applied, clock);
  teardown.add(log.flush);
  // Before anything is written, so that a start in the wrong folder leaves nothing behind.
  checkSettings(root, options.app);
  const app = await synthesiseApp(await openBase({ options, root, log, clock, applied, runs, teardown }));
  const synthesised = readSynthesised(app, app.outdir);
  recordStart(app, synthesised);
  const sqs = createSqsClient(app);
  teardown.add(() => sqs.destroy());
  const stack = await createResources(app, synthesised, sqs);
  const notPlayed = [...describeNotPlayed(stack), ...goneTopics(stack, app.folder?.topicsFile)];
  for (const line of notPlayed) log.say(line);

  const { guard } = app;
  const variables = variablesOf(app);
  const functions = createFunctions(stack, { guard, variables, clock, addLine: log.add, root });
  teardown.add(() => functions.stop());
  const triggers = triggersOf(app, stack, functions, sqs);
  const advising = await startAdvising(app, stack, sqs, notPlayed);
  reloadAfterSaves(app, synthesised, { sqs, functions, onReloaded: advising.follow });
  // The caller prints next that the stack is up.
  log.flush();
  return describeStack(app, stack, functions, triggers.fireRules);
}

async function startAdvising(
  { record, log, teardown }: App,
  stack: StackSpec,
  sqs: SQSClient,
  notPlayed: readonly string[],
) {
  const advising = await adviseRegularly(stack, {
    countMessages: (queue) => countMessages(queue, sqs),
    onAdvice: (advice) => record.warn([...notPlayed, ...advice]),
    log: log.say,
  });
  teardown.add(() => {
    advising.stop();
    // A check may still be under way. It must not write the record again after `folder.release` has deleted it.
    record.stop();
  });
  return advising;
}

function openLog(
  { log, console, progress }: EmbeddedStackOptions,
  applied: AppliedEvents,
  clock: MovingClock,
): { readonly log: RunnerLog; readonly runs: () => number } {
  let runs = 0;
  const onLine = (line: LogLine): void => {
    console?.onLine(line);
    applied.heard(line);
    if (line.event?.type === "started") runs += 1;
  };
  return { log: openRunnerLog(log, onLine, progress, clock), runs: () => runs };
}

function triggersOf(app: App, stack: StackSpec, functions: StackFunctions, sqs: SQSClient): Triggers {
  const { options, api, services, platform, clock, log, teardown } = app;
  const { pools, invoke } = functions;
  const { account } = platform;
  const tick = options.tick ?? true;
  const triggers = startTriggers(stack, {
    ...{ pools, invoke, api, sqs, services, account, tick, clock },
    log: log.say,
  });
  teardown.add(triggers.stop);
  app.moves.of = movesOf(app, stack, functions, triggers);
  return triggers;
}

async function openBase(given: Start): Promise<Base> {
  const { options, log, clock, teardown } = given;
  const folder = options.memory ? undefined : openDataFolder(options.dataDir, options.reset ?? false);
  if (folder) {
    teardown.add(folder.release);
    teardown.add(logDiskShortage(folder.shortage, log.say));
    makePrivateFolder(folder.codeCacheDir);
  }
  const kept = jsonFile(folder?.clockFile, { ahead: 0 });
  clock.setAhead(kept.read().ahead);
  const ahead = aheadText(clock.ahead());
  if (ahead !== undefined)
    log.say(`the clock is ${ahead} ahead of this machine's, as it was moved; --reset sets it back`);
  const moves: Base["moves"] = { of: "the stack starts" };
  const route = clockRoute(clock, () => moves.of, given.runs);
  const api = await openHttpApi(options.port, {
    shortage: folder?.shortage,
    pages: (...call) => route(...call) || (options.console?.pages(...call) ?? false),
  });
  teardown.add(() => api.stop(0));
  const platform = readPlatform(process.env);
  const services = await startOwnServices(folder, platform, clock, given.applied);
  teardown.add(services.stop);
  const guard = startGuard();
  teardown.add(guard.stop);
  const record = keepRecord({ url: api.url, services: services.url }, folder?.writeRecord);
  const keepClock = (ahead: number) => kept.write({ ahead });
  return { ...given, folder, api, moves, keepClock, platform, services, guard, record };
}

async function synthesiseApp(base: Base): Promise<App> {
  const { options, root, log, teardown, folder, guard, record } = base;
  const { database, signal, onLost = () => {} } = options;
  const starting = startEmulators({
    folder,
    database,
    ahead: base.clock.ahead,
    guard,
    log: log.say,
    onRestart: record.write,
    onLost: (error) => {
      log.flush();
      onLost(error);
    },
  });
  teardown.add(async () => (await starting.catch(() => undefined))?.stop());
  const synthesis = createSynthesis({ root, app: options.app, guard, signal });
  teardown.add(synthesis.stop);
  log.progress("Building the functions and synthesising the stack …");
  const began = Date.now();
  const [emulators, outdir] = await Promise.all([starting, synthesis.run()]);
  signal?.throwIfAborted();
  const endpoints = { ...emulators.endpoints, ...base.services.endpoints };
  return { ...base, emulators, endpoints, synthesis, outdir, began };
}

function readSynthesised({ options, platform, emulators, endpoints, api }: App, outdir: string): StackSpec {
  const assembly = readAssembly(outdir, options.stack);
  const { stackName } = assembly;
  const site = { ...platform, stackName, sqsEndpoint: endpoints.sqs, apiUrl: api.url };
  const stack = readStack(assembly, site);
  const oneShard = options.oneShard && emulators.pids().dynamodb !== undefined;
  const functions = oneShard ? stack.functions.map(withOneShard) : stack.functions;
  return { ...stack, functions };
}

function recordStart({ record, emulators, endpoints }: App, { functions }: StackSpec): void {
  record.start(emulators.pids, { endpoints, webhookSecrets: webhookSecretsOf(functions) });
}

function createSqsClient({ platform, endpoints }: App): SQSClient {
  return new SQSClient({
    ...platform,
    endpoint: endpoints.sqs,
    // MD5 digests detect networks that alter bodies. Loopback alters none.
    md5: false,
    requestHandler: new NodeHttpHandler({ httpAgent: { maxSockets: MAX_SOCKETS, keepAlive: true } }),
  });
}

async function createResources(
  { platform, endpoints }: App,
  stack: StackSpec,
  sqs: SQSClient,
): Promise<StackSpec> {
  const scheduler = new SchedulerClient({ ...platform, endpoint: endpoints.scheduler });
  const secretsManager = new SecretsManagerClient({ ...platform, endpoint: endpoints.secretsManager });
  const refusals = await Promise.all([
    createTables(stack.tables, { ...platform, endpoint: endpoints.dynamodb }),
    createQueues(stack.queues, sqs),
    createSchedules(stack.scheduleGroups, stack.schedules, scheduler),
    createSecrets(stack.secrets, secretsManager),
  ]);
  return leaveOutRefused(stack, refusals.flat());
}

function describeNotPlayed({ unknownTypes, leftOut }: StackSpec): string[] {
  return [
    ...unknownTypes.map((type) => `the local stack does not play ${type}; it is left out`),
    ...leftOut.map((line) => `left out: ${line}`),
  ];
}

function variablesOf({ options, platform, endpoints, folder, api }: App): Record<string, string> {
  return {
    ...platformVariables(platform, endpoints, process.env),
    // Otherwise a client in a handler would call the API at the default port, which may be that of another project.
    MINUTEHAND_URL: api.url,
    // Node keeps compiled code in the data folder. A function's next process then starts in about half the time.
    ...(folder && { NODE_COMPILE_CACHE: folder.codeCacheDir }),
    ...options.environment,
  };
}

/** Answers what moves the stack's clock, or why it cannot be moved. */
function movesOf(
  { options, clock, keepClock, emulators, services, platform, endpoints, teardown }: App,
  stack: StackSpec,
  functions: StackFunctions,
  { checkMinute }: Triggers,
): ClockMoves | string {
  const { moveQueues } = emulators;
  if (!moveQueues || !services.scheduler)
    return "the clock of a stack whose SQS or EventBridge Scheduler runs elsewhere cannot be moved";
  const dynamodb = new DynamoDBClient({ ...platform, endpoint: endpoints.dynamodb });
  teardown.add(() => dynamodb.destroy());
  const pools = new Set(functions.pools.flatMap(({ spec }) => spec.environment.MINUTEHAND_TABLE ?? []));
  const { polled } = services.eventSourceMappings;
  return createClockMoves({
    ...{ clock, functions, moveQueues, checkMinute },
    consumed: () => new Set(polled().map((arn) => arn.slice(arn.lastIndexOf(":") + 1))),
    rules: options.tick === false ? [] : stack.rules,
    readPool: () => readPoolEntries(dynamodb, pools),
    keep: keepClock,
  });
}

type Reloaded = {
  readonly sqs: SQSClient;
  readonly functions: StackFunctions;
  readonly onReloaded: (stack: StackSpec) => void;
};

function reloadAfterSaves(app: App, stack: StackSpec, { sqs, functions, onReloaded }: Reloaded): void {
  const { options, root, synthesis, began, guard, log, teardown } = app;
  if (!options.watch) return;
  const inputs = createInputs();
  const { reloadAfterSave, isUsed } = createReloader(
    { stack, inputs: synthesis.inputs(), began },
    {
      inputs,
      root,
      rebuild: (spec, build) => rebuildFunction(spec, build, { folder: synthesis.newFolder(), root }),
      synthesise: (saved) => synthesiseAgain(app, saved),
      appInputs: synthesis.inputs,
      createQueues: async (queues) => {
        const [refusal] = await createQueues(queues, sqs);
        if (refusal) throw new LocalError(refusalText(refusal));
      },
      replaceFunctions: (specs) => {
        functions.replace(specs);
        synthesis.dropUnused(functions.codeDirs(), Date.now());
      },
      onReloaded,
      log: log.say,
      clock: Date.now,
    },
  );
  const isInput = inputs.has;
  const checking = options.typeCheck
    ? createTypeCheck({ root, guard, isInput: isUsed, log: log.say })
    : undefined;
  if (checking) teardown.add(checking.cancel);
  const onSaved = async (paths: ReadonlySet<string>) => {
    const isSource = paths.size === 0 || [...paths].some((path) => TYPESCRIPT.test(path));
    // The new code comes first.
    if (isSource) checking?.cancel();
    await reloadAfterSave();
    if (isSource) void checking?.start();
  };
  teardown.add(watchFolders({ onSaved, isInput, folders: inputs.folders, log: log.say }));
}

async function synthesiseAgain(app: App, saved: ReadonlySet<string>): Promise<StackSpec> {
  const next = readSynthesised(app, await app.synthesis.run(saved));
  app.services.eventSourceMappings.expect(next.eventSources, app.log.say);
  return next;
}

function describeStack(
  { api, endpoints, platform, emulators, guard, teardown }: App,
  stack: StackSpec,
  functions: StackFunctions,
  tick: EmbeddedStack["tick"],
): EmbeddedStack {
  const prefixes = stack.functions.map(({ environment }) => environment.MINUTEHAND_QUEUE_URL_PREFIX);
  return {
    url: api.url,
    hasApi: stack.routes.length > 0,
    endpoints,
    platform,
    tableName: stack.tables[0]?.name ?? "",
    queueUrlPrefix: prefixes.find(Boolean) ?? "",
    queues: stack.queues,
    functions: stack.functions,
    functionPids: functions.pids,
    emulatorPids: emulators.pids,
    guardPid: guard.pid,
    invoke: async (name, event) => functions.invoke(functions.find(name), event),
    tick,
    stop: teardown.run,
  };
}
