import { realpathSync } from "node:fs";
import { SchedulerClient } from "@aws-sdk/client-scheduler";
import { SecretsManagerClient } from "@aws-sdk/client-secrets-manager";
import { SQSClient } from "@aws-sdk/client-sqs";
import { NodeHttpHandler } from "@smithy/node-http-handler";
import { countMessages, createAdviser } from "./advice.ts";
import { openAppFolder, watchAppFolder } from "./app-folder.ts";
import { readAssembly } from "./assembly.ts";
import { checkSettings } from "./cdk-app.ts";
import { refusalText } from "./create-each.ts";
import { type DataFolder, openDataFolder } from "./data-folder.ts";
import type { Database } from "./database.ts";
import { withOneShard } from "./delay-queue.ts";
import { logDiskShortage } from "./disk.ts";
import { displayName } from "./display-name.ts";
import { startEmulators } from "./emulators.ts";
import type { Outcome } from "./execution-environment.ts";
import { createFunctionPool, type FunctionPool } from "./function-pool.ts";
import { startGuard } from "./guard.ts";
import { openHttpApi, type Pages } from "./http-api.ts";
import { readInputs } from "./inputs.ts";
import { leaveOutRefused } from "./left-out.ts";
import { errorText, LocalError } from "./local-error.ts";
import { formatLogLine, type LogLine } from "./log-lines.ts";
import { orderLines } from "./ordered-lines.ts";
import { rememberOutput } from "./own-output.ts";
import { type Endpoints, type Platform, platformVariables, readPlatform } from "./platform.ts";
import { createQueues } from "./queues.ts";
import { rebuildFunction } from "./rebuild.ts";
import { createReloader } from "./reload.ts";
import { type FunctionSpec, type QueueSpec, readStack, type StackSpec } from "./resources.ts";
import type { Synthesised } from "./running-stack.ts";
import { createSavedFiles } from "./saved-files.ts";
import { createSchedules } from "./schedules.ts";
import { createSecrets } from "./secrets.ts";
import { startOwnServices } from "./services/own-services.ts";
import { createSynthesis } from "./synthesis.ts";
import { createTables } from "./tables.ts";
import { createTeardown } from "./teardown.ts";
import { startTriggers } from "./triggers.ts";

/** Enough for the ten pollers of each of about 15 queues, whose requests wait up to 20 s, and for the deletions at the same time. */
const MAX_SOCKETS = 200;

/** A minute, because the sweep sends jobs to the queues each minute. */
const ADVISE_EVERY_MS = 60_000;

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
  /** The path of the page. */
  readonly path: string;
  /** Answers the requests for the page and its files. */
  readonly pages: Pages;
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
  /** Account, region and credentials for clients of the endpoints. */
  readonly platform: Platform;
  /** The process ids of each function, by its logical id. */
  readonly functionPids: () => Record<string, number[]>;
  readonly emulatorPids: () => { dynamodb?: number; sqs?: number };
  readonly guardPid: () => number | undefined;
  /** Invokes a function. `name`: its name, its logical id, or a part of the logical id that no other function has. */
  readonly invoke: (name: string, event: unknown) => Promise<Outcome>;
  /** Fires every scheduled rule now. */
  readonly tick: () => Promise<Outcome[]>;
  readonly stop: () => Promise<void>;
};

/**
 * Synthesises an app and starts its stack on this machine. Throws `LocalError` for a failure that the user can fix.
 *
 * @example
 * const stack = await startEmbeddedStack({ port: 0, dataDir: ".minutehand", log: console.log });
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

async function start(
  options: EmbeddedStackOptions,
  teardown: ReturnType<typeof createTeardown>,
): Promise<EmbeddedStack> {
  const { signal, onLost = () => {} } = options;
  // Imports and inputs of bundles are named by their real paths.
  const root = realpathSync(options.root ?? process.cwd());
  const output = rememberOutput();
  const print = output.remember(options.log);
  const lines = orderLines<LogLine>((line) => {
    print(line.text);
    options.console?.onLine(line);
  });
  teardown.add(lines.flush);
  const log = (text: string) => {
    const at = Date.now();
    lines.add({ text, at }, at);
  };
  const progress = output.remember(options.progress ?? (() => {}));
  // Before anything is written, so that a start in the wrong folder leaves nothing behind.
  checkSettings(root, options.app);
  const folder = options.memory ? undefined : openDataFolder(options.dataDir, options.reset ?? false);
  if (folder) {
    teardown.add(folder.release);
    teardown.add(logDiskShortage(folder.shortage, log));
  }
  const api = await openHttpApi(options.port, { shortage: folder?.shortage, pages: options.console?.pages });
  teardown.add(() => api.stop(0));
  const platform = readPlatform(process.env);
  const services = await startOwnServices(folder, platform);
  teardown.add(services.stop);
  const guard = startGuard();
  teardown.add(guard.stop);

  let warnings: readonly string[] = [];
  let writeRecord = () => {};
  const starting = startEmulators({
    folder,
    database: options.database,
    guard,
    log,
    onRestart: () => writeRecord(),
    onLost: (error) => {
      lines.flush();
      onLost(error);
    },
  });
  teardown.add(async () => (await starting.catch(() => undefined))?.stop());
  const appFolder = openAppFolder(root, folder?.paths, log);
  const synthesis = createSynthesis({ appFolder, app: options.app, guard, signal });
  teardown.add(synthesis.stop);
  const files = options.watch ? createSavedFiles(appFolder, output.isIn) : undefined;
  const [emulators, outdir] = await Promise.all([starting, synthesis.run(progress)]);
  signal?.throwIfAborted();
  const endpoints = { ...emulators.endpoints, ...services.endpoints };
  writeRecord = () =>
    folder?.writeRecord({
      pid: process.pid,
      url: api.url,
      services: services.url,
      emulators: Object.values(emulators.pids()),
      warnings,
    });
  writeRecord();

  const readSynthesised = (folder: string): Synthesised => {
    const assembly = readAssembly(folder, options.stack);
    const { stackName } = assembly;
    const site = { ...platform, stackName, sqsEndpoint: endpoints.sqs, apiUrl: api.url };
    const stack = readStack(assembly, site);
    const oneShard = options.oneShard && emulators.pids().dynamodb !== undefined;
    const functions = oneShard ? stack.functions.map(withOneShard) : stack.functions;
    return { stack: { ...stack, functions }, imports: new Set(readInputs(folder)?.imports) };
  };
  const synthesised = readSynthesised(outdir);
  const declared = synthesised.stack;
  const sqs = new SQSClient({
    ...platform,
    endpoint: endpoints.sqs,
    // MD5 digests detect networks that alter bodies. Loopback alters none.
    md5: false,
    requestHandler: new NodeHttpHandler({ httpAgent: { maxSockets: MAX_SOCKETS, keepAlive: true } }),
  });
  teardown.add(() => sqs.destroy());
  const scheduler = new SchedulerClient({ ...platform, endpoint: endpoints.scheduler });
  const secretsManager = new SecretsManagerClient({ ...platform, endpoint: endpoints.secretsManager });
  const refusals = await Promise.all([
    createTables(declared.tables, { ...platform, endpoint: endpoints.dynamodb }),
    createQueues(declared.queues, sqs),
    createSchedules(declared.scheduleGroups, declared.schedules, scheduler),
    createSecrets(declared.secrets, secretsManager),
  ]);
  const stack = leaveOutRefused(declared, refusals.flat());
  const notPlayed = [
    ...stack.unknownTypes.map((type) => `the local stack does not play ${type}; it is left out`),
    ...stack.leftOut.map((line) => `left out: ${line}`),
  ];
  for (const line of notPlayed) log(line);

  const names = new Map(stack.functions.map((spec) => [spec.logicalId, displayName(spec, stack)]));
  const say = (logicalId: string, line: string, codeDir: string, writtenAt: number) => {
    const readable = formatLogLine(names.get(logicalId) ?? logicalId, line, writtenAt, codeDir);
    // A logger may give a record a time of its own, even a later one.
    if (readable !== undefined) lines.add(readable, Math.min(readable.at, writtenAt));
  };
  const variables = {
    ...platformVariables(platform, endpoints, process.env),
    ...compileCacheVariables(folder),
    ...options.environment,
  };
  const pools = stack.functions.map((spec) => createFunctionPool(spec, { guard, variables, onLine: say }));
  teardown.add(() => Promise.all(pools.map((pool) => pool.stop(0))));
  const holdCode = () => synthesis.hold(pools.map(({ spec }) => spec.codeDir));
  holdCode();
  const invoke = async (pool: FunctionPool, event: unknown): Promise<Outcome> => {
    const outcome = await pool.invoke(event);
    if (outcome.outcome !== "returned") {
      const { errorMessage: message, thrown } = outcome.error;
      const record = JSON.stringify({ level: "ERROR", message, thrown });
      say(pool.spec.logicalId, record, pool.spec.codeDir, Date.now());
    }
    return outcome;
  };
  const { account } = platform;
  const tick = options.tick ?? true;
  const triggers = startTriggers(stack, { pools, invoke, api, sqs, services, account, tick, log });
  teardown.add(triggers.stop);
  const advise = createAdviser({ countMessages: (queue) => countMessages(queue, sqs), log });
  const adviseNow = (current: StackSpec) =>
    advise(current)
      .then((advice) => {
        warnings = [...notPlayed, ...advice];
        writeRecord();
      })
      .catch((error) => log(`the queues of the stack could not be checked: ${errorText(error)}`));
  await adviseNow(stack);
  // A job that nobody runs may be due later.
  let advised = stack;
  const advising = setInterval(() => void adviseNow(advised), ADVISE_EVERY_MS).unref();
  teardown.add(() => {
    clearInterval(advising);
    // A check may still be under way. It must not write the record again after `folder.release` has deleted it.
    writeRecord = () => {};
  });
  if (files) {
    const reloadAfterSave = createReloader(synthesised, {
      files,
      root,
      rebuild: (spec, build) => rebuildFunction(spec, build, { folder: synthesis.newFolder(), root }),
      synthesise: async () => readSynthesised(await synthesis.run(() => {})),
      createQueues: async (queues) => {
        const [refusal] = await createQueues(queues, sqs);
        if (refusal) throw new LocalError(refusalText(refusal));
      },
      replaceFunctions: (specs) => {
        for (const spec of specs) pools.find((pool) => pool.spec.arn === spec.arn)?.replace(spec);
        holdCode();
      },
      onReloaded: (reloaded) => {
        advised = reloaded;
        void adviseNow(reloaded);
      },
      log,
    });
    const { folders } = files;
    teardown.add(watchAppFolder(appFolder, { onSaved: reloadAfterSave, folders, log }));
    // A file may have been saved while the stack started.
    void reloadAfterSave();
  }

  // The caller prints next that the stack is up.
  lines.flush();
  const [table] = stack.tables;
  return {
    url: api.url,
    hasApi: stack.routes.length > 0,
    endpoints,
    platform,
    tableName: table?.name ?? "",
    queueUrlPrefix:
      stack.functions.map(({ environment }) => environment.MINUTEHAND_QUEUE_URL_PREFIX).find(Boolean) ?? "",
    queues: stack.queues,
    functions: stack.functions,
    functionPids: () => Object.fromEntries(pools.map((pool) => [pool.spec.logicalId, pool.pids()])),
    emulatorPids: emulators.pids,
    guardPid: guard.pid,
    invoke: async (name, event) => invoke(findPool(pools, name), event),
    tick: triggers.fireRules,
    stop: teardown.run,
  };
}

/** Makes Node keep compiled code in the data folder, so that a function's next process starts in about half the time. */
function compileCacheVariables(folder: DataFolder | undefined): Record<string, string> {
  return folder ? { NODE_COMPILE_CACHE: folder.codeCacheDir } : {};
}

function findPool(pools: readonly FunctionPool[], name: string): FunctionPool {
  const exact = pools.find(({ spec }) => spec.logicalId === name || spec.name === name);
  const similar = pools.filter(({ spec }) => spec.logicalId.includes(name));
  const pool = exact ?? (similar.length === 1 ? similar[0] : undefined);
  if (pool) return pool;
  throw new Error(
    `"${name}" must name exactly one function, got ${similar.length}; allowed: ${pools.map(({ spec }) => spec.logicalId).join(", ")}`,
  );
}
