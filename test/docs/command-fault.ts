import { createProgram } from "../../src/cli/program.ts";
import type { Surroundings } from "../../src/cli/surroundings.ts";

const program = createProgram({ stdout: {}, stderr: {} } as Surroundings, () => {
  throw new Error("no command is run here");
});

/** Says what is wrong with the arguments of a `minutehand` call: an unknown command, subcommand or option. `undefined`: nothing. */
export function commandFault([name, ...args]: readonly string[]): string | undefined {
  if (name === "--help") return undefined;
  const outer = program.commands.find((one) => one.name() === name);
  const inner = outer?.commands.find((one) => one.name() === args[0]);
  const isGroup = outer !== undefined && outer.commands.length > 0;
  if (outer === undefined || (isGroup && args[0] !== undefined && inner === undefined))
    return "no such command";
  const known = [...program.options, ...(inner ?? outer).options].map(({ long }) => long);
  const unknown = args.filter((arg) => arg.startsWith("--") && arg !== "--help" && !known.includes(arg));
  return unknown.length === 0 ? undefined : `no such option: ${unknown.join(" ")}`;
}
