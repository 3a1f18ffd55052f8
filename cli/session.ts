import { createInterface } from "node:readline/promises";
import type { Client, ClientOptions } from "../client/client.ts";
import { createClient } from "../client/http-client.ts";
import { UsageError } from "./cli-error.ts";
import { createOutput, type Output } from "./output.ts";
import { createProgress, type Progress } from "./progress.ts";
import type { Surroundings } from "./surroundings.ts";
import { findTarget, type Target } from "./target.ts";

/** What may stand with every command. */
export type GlobalOptions = {
  readonly url?: string;
  readonly stack?: string;
  readonly region?: string;
  readonly profile?: string;
  readonly token?: string;
  readonly json?: true;
  readonly color: boolean;
  readonly debug?: true;
};

/** How long a call may take: of one try, ms, and how often it is repeated. */
type Patience = Pick<ClientOptions, "timeout" | "retries">;

/** Somebody waits for it. */
const USUAL: Patience = { retries: 3 };

/** What a command works with. */
export type Session = {
  readonly options: GlobalOptions;
  readonly surroundings: Surroundings;
  readonly output: Output;
  readonly progress: Progress;
  target(): Promise<Target>;
  /** Some tries of the usual time, unless told otherwise. */
  client(patience?: Patience): Promise<Client>;
  /** Whether somebody can be asked. */
  readonly isAttended: boolean;
  confirm(question: string): Promise<boolean>;
};

/** Gives the session of the command that is run. */
export type Open = () => Session;

/** Puts the region and the profile where the AWS SDK reads them. */
export function nameToAws(options: GlobalOptions, env: Surroundings["env"]): void {
  const region = options.region ?? (env.AWS_REGION || env.AWS_DEFAULT_REGION);
  if (region) env.AWS_REGION = region;
  if (options.profile !== undefined) env.AWS_PROFILE = options.profile;
}

export function createSession(options: GlobalOptions, surroundings: Surroundings): Session {
  const { env, stdin, stderr } = surroundings;
  nameToAws(options, env);
  let found: Promise<Target> | undefined;
  const target = (timeout?: number) => {
    found ??= findTarget(options, env, timeout);
    return found;
  };
  return {
    options,
    surroundings,
    output: createOutput(surroundings, { json: options.json === true, color: options.color }),
    progress: createProgress(surroundings),
    target: () => target(),
    async client(patience = USUAL) {
      const { stack: _, ...found } = await target(patience.timeout);
      try {
        return createClient({ ...found, ...patience });
      } catch (error) {
        if (error instanceof RangeError) throw new UsageError(`${error.message}; see --region and --token`);
        throw error;
      }
    },
    isAttended: stdin.isTTY === true && stderr.isTTY === true,
    async confirm(question) {
      stderr.write(`${question} [y/N] `);
      // No terminal of readline's own, so that Ctrl-C is a signal as ever.
      const lines = createInterface({ input: stdin, terminal: false });
      try {
        for await (const line of lines) return /^y(es)?$/i.test(line.trim());
        return false;
      } finally {
        // Its iterator leaves a terminal open, for which the process would wait.
        lines.close();
      }
    },
  };
}
