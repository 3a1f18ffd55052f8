import { type Command, CommanderError } from "commander";
import { printable } from "../../local/printable.ts";
import { MinutehandError, messageOf } from "../core/errors.ts";
import { CliError, UsageError } from "./cli-error.ts";
import { createProgram, FAILED, INTERRUPTED, OK, WRONGLY_CALLED } from "./program.ts";
import { createSession, type GlobalOptions, type Session } from "./session.ts";
import type { Surroundings } from "./surroundings.ts";

export async function run(args: readonly string[], surroundings: Surroundings): Promise<number> {
  const { stderr } = surroundings;
  const interrupted = Promise.withResolvers<number>();
  let opened: Session | undefined;
  const program = createProgram(surroundings, (options: GlobalOptions) => {
    const session = createSession(options, surroundings);
    opened = session;
    const end = async (): Promise<number> => {
      await surroundings.interrupted();
      session.progress.clear();
      await session.undo();
      return INTERRUPTED;
    };
    interrupted.resolve(end());
    return session;
  });
  try {
    const done = program.parseAsync(withoutHelpOfNone(args, program), { from: "user" }).then(() => OK);
    return await Promise.race([done, interrupted.promise]);
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? OK : WRONGLY_CALLED;
    // Read the option here, because `local` opens no session.
    const { debug = false } = program.opts<GlobalOptions>();
    const reasons = error instanceof CliError ? error.reasons : [];
    const told = reasons.map((reason) => `\n  ${printable(reason)}`).join("");
    stderr.write(`minutehand: ${wordsOf(error, debug)}${hintFor(error, opened)}${told}\n`);
    return error instanceof UsageError ? WRONGLY_CALLED : FAILED;
  }
}

/** Reads `help enqueu` as `enqueu`, because commander's error for an unknown command has a hint, and its help for it has none. */
function withoutHelpOfNone(args: readonly string[], { commands }: Command): string[] {
  const [first, name = "-", ...others] = args;
  const isKnown = name.startsWith("-") || commands.some((command) => command.name() === name);
  return first === "help" && !isKnown ? [name, ...others] : [...args];
}

function wordsOf(error: unknown, isDebugging: boolean): string {
  const isKnown = error instanceof CliError || error instanceof MinutehandError;
  if (!(error instanceof Error && (isDebugging || !isKnown))) return printable(messageOf(error));
  return (error.stack ?? error.message).split("\n").map(printable).join("\n");
}

/** If an API does not answer that the command line does not name, the user must learn why it was called. */
function hintFor(error: unknown, session: Session | undefined): string {
  const named = session?.named();
  if (named === undefined || !(error instanceof MinutehandError && error.code === "unavailable")) return "";
  return printable(` (the API is that of ${named})`);
}
