import type { Command, Option } from "commander";
import { createProgram } from "../../../src/cli/program.ts";
import type { Surroundings } from "../../../src/cli/surroundings.ts";
import { table } from "../markdown.ts";

/** Makes the command-line program, only to read its declarations. None of its commands runs. */
function program(): Command {
  const surroundings = { stdout: {}, stderr: {} } as Surroundings;
  return createProgram(surroundings, () => {
    throw new Error("no command is run here");
  });
}

export function commands(): string {
  const rows = leaves(program()).map((command) => {
    const args = command.registeredArguments.map((argument) => {
      const name = argument.variadic ? `${argument.name()}...` : argument.name();
      return argument.required ? ` <${name}>` : ` [${name}]`;
    });
    const shown = command.options.filter(isShown).map(({ flags }) => `\`${flags}\``);
    return [`\`${pathOf(command)}${args.join("")}\``, command.description(), shown.join(" ")];
  });
  return table(["command", "what it does", "options"], rows);
}

export function options(): string {
  const rows = program()
    .options.filter(isShown)
    .map(({ flags, description }) => [`\`${flags.replace("-V, ", "")}\``, description]);
  return table(["option", "meaning"], rows);
}

function leaves(command: Command): Command[] {
  return command.commands.length === 0 ? [command] : command.commands.flatMap(leaves);
}

function pathOf(command: Command): string {
  return command.parent?.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name();
}

function isShown({ hidden }: Option): boolean {
  return !hidden;
}
