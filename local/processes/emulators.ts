import type { DataFolder } from "../data-folder.ts";
import type { LocalError } from "../local-error.ts";
import { chooseDatabase, type Database, databaseProgram, otherDatabase } from "./database.ts";
import { externalEndpoint } from "./external-endpoint.ts";
import { fauxqsProgram, type QueuesState } from "./fauxqs.ts";
import type { Guard } from "./guard.ts";
import { type SupervisedProgram, type Supervisor, supervise } from "./supervise.ts";

export type Emulators = {
  readonly endpoints: { readonly dynamodb: string; readonly sqs: string };
  /** The process ids of the emulators. A service that runs elsewhere has none. */
  readonly pids: () => { dynamodb?: number; sqs?: number };
  /** Sets the clock of the embedded SQS, and answers what its queues do then. Absent: SQS runs elsewhere. `undefined`: it restarts. */
  readonly moveQueues: ((ahead: number) => Promise<QueuesState | undefined>) | undefined;
  readonly stop: () => Promise<void>;
};

type Dependencies = {
  readonly guard: Guard;
  readonly folder: DataFolder | undefined;
  readonly database: Database | undefined;
  /** How many ms the stack's clock is ahead of the machine's. */
  readonly ahead: () => number;
  readonly log: (line: string) => void;
  readonly onRestart: () => void;
  readonly onLost: (error: LocalError) => void;
};

/** Starts the emulators of DynamoDB and SQS, except where an environment variable names another service. */
export async function startEmulators({
  folder,
  database,
  ahead,
  ...dependencies
}: Dependencies): Promise<Emulators> {
  const started: Supervisor[] = [];
  const serve = async (variable: string, embedded: () => Promise<Embedded>): Promise<Service> => {
    const outer = await externalEndpoint(variable);
    if (outer !== undefined) return { endpoint: outer, pid: () => undefined, ask: undefined };
    const { program, endpoint } = await embedded();
    const supervisor = await supervise(program, dependencies);
    started.push(supervisor);
    return { endpoint, pid: supervisor.pid, ask: supervisor.ask };
  };
  const stop = async () => {
    await Promise.all(started.map((service) => service.stop()));
  };
  const results = await Promise.allSettled([
    serve("AWS_ENDPOINT_URL_DYNAMODB", async () => {
      const chosen = chooseDatabase(database);
      const unseen = folder && otherDatabase(chosen, folder);
      if (unseen !== undefined) dependencies.log(unseen);
      return databaseProgram(chosen, folder);
    }),
    serve("AWS_ENDPOINT_URL_SQS", () => fauxqsProgram(folder?.queuesDir, ahead)),
  ]);
  const [dynamodb, sqs] = results;
  if (dynamodb.status === "rejected" || sqs.status === "rejected") {
    await stop();
    const failed = results.find((result) => result.status === "rejected");
    throw failed?.reason;
  }
  return {
    moveQueues: moveQueuesBy(sqs.value),
    endpoints: { dynamodb: dynamodb.value.endpoint, sqs: sqs.value.endpoint },
    pids: () => ({ ...pidEntry("dynamodb", dynamodb.value.pid()), ...pidEntry("sqs", sqs.value.pid()) }),
    stop,
  };
}

type Embedded = { program: SupervisedProgram; endpoint: string };
type Service = {
  endpoint: string;
  pid: () => number | undefined;
  ask: Supervisor["ask"] | undefined;
};

function moveQueuesBy({ ask }: Service): Emulators["moveQueues"] {
  return ask && ((ahead) => ask({ ahead }) as Promise<QueuesState | undefined>);
}

function pidEntry<N extends string>(name: N, pid: number | undefined): { [K in N]?: number } {
  return (pid === undefined ? {} : { [name]: pid }) as { [K in N]?: number };
}
