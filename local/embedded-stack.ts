import { SchedulerClient } from "@aws-sdk/client-scheduler";
import { SecretsManagerClient } from "@aws-sdk/client-secrets-manager";
import { SQSClient } from "@aws-sdk/client-sqs";
import { NodeHttpHandler } from "@smithy/node-http-handler";
import { hashFolder, openAppFolder, watchAppFolder } from "./app-folder.ts";
import { readAssembly } from "./assembly.ts";
import { leaveOutRefused, refusalText } from "./create-each.ts";
import { type DataFolder, openDataFolder } from "./data-folder.ts";
import { logDiskShortage } from "./disk.ts";
import { displayName } from "./display-name.ts";
import { startEmulators } from "./emulators.ts";
import type { Outcome } from "./execution-environment.ts";
import { createFunctionPool, type FunctionPool } from "./function-pool.ts";
import { startGuard } from "./guard.ts";
import { openHttpApi } from "./http-api.ts";
import { errorText, LocalError } from "./local-error.ts";
import { formatLogLine } from "./log-lines.ts";
import { type Endpoints, type Platform, platformVariables, readPlatform } from "./platform.ts";
import { createQueues } from "./queues.ts";
import { createReloader } from "./reload.ts";
import { type FunctionSpec, type QueueSpec, readStack, type StackSpec } from "./resources.ts";
import { createSchedules } from "./schedules.ts";
import { createSecrets } from "./secrets.ts";
import { startOwnServices } from "./services/own-services.ts";
import { createSynthesis } from "./synthesis.ts";
import { createTables } from "./tables.ts";
import { createTeardown } from "./teardown.ts";
import { startTriggers } from "./triggers.ts";

/** All pollers of all queues at once, and some deletions. */
const MAX_SOCKETS = 200;

export type EmbeddedStackOptions = {
  /** Of the HTTP API on 127.0.0.1; 0 picks a free one. */
  readonly port: number;
  readonly dataDir: string;
  /** Drop what an earlier run left. */
  readonly reset?: boolean;
  /** Keep everything in memory: the data folder is not touched. */
  readonly memory?: boolean;
  /** Whether the rules fire, at start and then each minute; default true. */
  readonly tick?: boolean;
  /** Set over the functions' own variables. */
  readonly environment?: Readonly<Record<string, string>>;
  /** The CDK project's folder; default the working directory. */
  readonly root?: string;
  /** The command that runs the app; default what the project's `cdk.json` says. */
  readonly app?: string | undefined;
  /** The name of the app's stack; default the only one, or the only one with a delay queue. */
  readonly stack?: string | undefined;
  /** Whether functions whose code or settings are saved are swapped; default false. */
  readonly watch?: boolean;
  /** Job events and what else is worth a line. */
  readonly log: (line: string) => void;
  /** What takes its time before the stack is up. */
  readonly progress?: (line: string) => void;
  /** Ends a start that is under way, which then throws the signal's reason. */
  readonly signal?: AbortSignal;
  /** An embedded service died after each restart; the stack is of no use any more. */
  readonly onLost?: (error: Error) => void;
};

export type EmbeddedStack = {
  readonly url: string;
  /** Whether the app has an HTTP API; without one nothing is answered at the URL. */
  readonly hasApi: boolean;
  readonly endpoints: Endpoints;
  readonly tableName: string;
  /** Queue URL without the topic, as the functions have it: `http://127.0.0.1:…/000000000000/minutehand-` */
  readonly queueUrlPrefix: string;
  readonly queues: readonly QueueSpec[];
  readonly functions: readonly FunctionSpec[];
  /** For clients that talk to the endpoints. */
  readonly platform: Platform;
  /** Process ids by the function's logical id. */
  readonly functionPids: () => Record<string, number[]>;
  readonly emulatorPids: () => { dynamodb?: number; sqs?: number };
  readonly guardPid: () => number | undefined;
  /** `name`: a logical id, or a part of it that no other has. */
  readonly invoke: (name: string, event: unknown) => Promise<Outcome>;
  /** Fires the rules now. */
  readonly tick: () => Promise<Outcome[]>;
  readonly stop: () => Promise<void>;
};

/** Starts the synthesised stack on this machine. Throws `LocalError` for what the user can mend. */
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
  const { root = process.cwd(), signal, log, progress = () => {}, onLost = () => {} } = options;
  const folder = options.memory ? undefined : openDataFolder(options.dataDir, options.reset ?? false);
  if (folder) {
    teardown.add(folder.release);
    teardown.add(logDiskShortage(folder.shortage, log));
  }
  const api = await openHttpApi(options.port, folder?.shortage);
  teardown.add(() => api.stop(0));
  const platform = readPlatform(process.env);
  const services = await startOwnServices(folder, platform);
  teardown.add(services.stop);
  const guard = startGuard();
  teardown.add(guard.stop);

  let note = () => {};
  const starting = startEmulators({ folder, guard, log, onRestart: () => note(), onLost });
  teardown.add(async () => (await starting.catch(() => undefined))?.stop());
  const appFolder = openAppFolder(root, folder?.paths, log);
  const synthesis = createSynthesis({ appFolder, app: options.app, guard, signal });
  teardown.add(synthesis.stop);
  const runningHash = options.watch ? hashFolder(appFolder) : "";
  const [emulators, outdir] = await Promise.all([starting, synthesis.run(progress)]);
  signal?.throwIfAborted();
  const endpoints = { ...emulators.endpoints, ...services.endpoints };
  note = () =>
    folder?.note({
      pid: process.pid,
      url: api.url,
      services: services.url,
      emulators: Object.values(emulators.pids()),
    });
  note();

  const read = (folder: string): StackSpec => {
    const assembly = readAssembly(folder, options.stack);
    const { stackName } = assembly;
    return readStack(assembly, { ...platform, stackName, sqsEndpoint: endpoints.sqs, apiUrl: api.url });
  };
  const declared = read(outdir);
  const sqs = new SQSClient({
    ...platform,
    endpoint: endpoints.sqs,
    // Checking each body's digest is for networks that alter it.
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
  for (const type of stack.unknownTypes) log(`the local stack does not play ${type}; it is left out`);
  for (const line of stack.leftOut) log(`left out: ${line}`);

  const names = new Map(stack.functions.map((spec) => [spec.logicalId, displayName(spec, stack)]));
  const say = (logicalId: string, line: string) => {
    const readable = formatLogLine(names.get(logicalId) ?? logicalId, line, Date.now());
    if (readable !== undefined) log(readable);
  };
  const variables = {
    ...platformVariables(platform, endpoints, process.env),
    ...codeCache(folder),
    ...options.environment,
  };
  const pools = stack.functions.map((spec) => createFunctionPool(spec, { guard, variables, onLine: say }));
  teardown.add(() => Promise.all(pools.map((pool) => pool.stop(0))));
  const holdCode = () => synthesis.hold(pools.map(({ spec }) => spec.codeDir));
  holdCode();
  const invoke = async (pool: FunctionPool, event: unknown): Promise<Outcome> => {
    const outcome = await pool.invoke(event);
    if (outcome.outcome !== "returned")
      say(pool.spec.logicalId, JSON.stringify({ level: "ERROR", message: outcome.error.errorMessage }));
    return outcome;
  };
  const { account } = platform;
  const tick = options.tick ?? true;
  const triggers = startTriggers(stack, { pools, invoke, api, sqs, services, account, tick, log });
  teardown.add(triggers.stop);
  if (options.watch) {
    const reloadAfterSave = createReloader(declared, {
      hashApp: () => hashFolder(appFolder),
      runningHash,
      synthesise: async () => read(await synthesis.run(() => {})),
      createQueues: async (queues) => {
        const [refusal] = await createQueues(queues, sqs);
        if (refusal) throw new LocalError(refusalText(refusal));
      },
      replaceFunctions: (specs) => {
        for (const spec of specs) pools.find((pool) => pool.spec.arn === spec.arn)?.replace(spec);
        holdCode();
      },
      log,
    });
    teardown.add(watchAppFolder(appFolder, { onSaved: () => void reloadAfterSave(), log }).stop);
    // A file may have been saved while the stack started.
    void reloadAfterSave();
  }

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
    invoke: async (name, event) => invoke(named(pools, name), event),
    tick: triggers.fireRules,
    stop: teardown.run,
  };
}

/** Compiled code is kept, which makes a function's next process start in about half the time. */
function codeCache(folder: DataFolder | undefined): Record<string, string> {
  return folder ? { NODE_COMPILE_CACHE: folder.codeCacheDir } : {};
}

function named(pools: readonly FunctionPool[], name: string): FunctionPool {
  const exact = pools.find(({ spec }) => spec.logicalId === name || spec.name === name);
  const similar = pools.filter(({ spec }) => spec.logicalId.includes(name));
  const pool = exact ?? (similar.length === 1 ? similar[0] : undefined);
  if (pool) return pool;
  throw new Error(
    `"${name}" names ${similar.length} functions of ${pools.map(({ spec }) => spec.logicalId).join(", ")}`,
  );
}
